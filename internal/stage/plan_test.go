package stage

import (
	"flag"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/omnijail/omnijail/internal/jail"
)

var update = flag.Bool("update", false, "rewrite the goldens")

func sample() Layout {
	return Layout{
		User: jail.User{UID: 1000, GID: 1001}, Home: "/home/u",
		System: []System{{Path: "/usr", Source: "/usr"}, {Path: "/bin", Source: "/bin", Link: "usr/bin"}, {Path: "/sys/devices/system/cpu", Source: "/sys/devices/system/cpu"}},
		Files:  []File{{Path: "/etc/passwd", Data: []byte("root:x:0:0\n"), Mode: 0o644}, {Path: "/run/omnijail/ca.pem", Mode: 0o644}},
		Links:  []Link{{Path: "/etc/mtab", Target: "/proc/self/mounts"}},
		Binds:  []Bind{{Source: "/etc/fonts", Path: "/etc/fonts"}},
		Masks:  []ProcMask{{Path: "/proc/kcore"}, {Path: "/proc/acpi", Dir: true}},
		Grants: []jail.OpenGrant{
			{Path: "/home/u/src/ws", Dir: true, Held: []jail.OpenName{{Name: ".git", Dir: true}, {Name: "out", Dir: true}},
				ReadOnly: []jail.OpenName{{Name: ".git/config"}}, Masked: []jail.OpenName{{Name: ".env"}}},
			{Path: "/home/u/src/ws/out", Dir: true, Write: true, Masked: []jail.OpenName{{Name: ".ssh", Dir: true}}},
			{Path: "/srv/data.bin"},
			{Path: "/usr/local/tool", Dir: true},
			{Path: "/tmp/shared", Dir: true, Write: true},
		},
	}
}

func TestPlanGolden(t *testing.T) {
	plan, err := NewPlan(sample())
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, s := range plan.Steps {
		got.WriteString(s.String() + "\n")
	}
	for _, m := range plan.Mounts {
		got.WriteString("mount " + m.Source + " at " + m.Dest + "\n")
	}
	const golden = "testdata/plan.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

func TestPlanRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*Layout){
		"granted twice":    func(l *Layout) { l.Grants[1].Path = l.Grants[0].Path },
		"home":             func(l *Layout) { l.Grants[2] = jail.OpenGrant{Path: "/home/u", Dir: true} },
		"around home":      func(l *Layout) { l.Grants[2] = jail.OpenGrant{Path: "/home", Dir: true} },
		"etc":              func(l *Layout) { l.Grants[2].Path = "/etc/x" },
		"no held place":    func(l *Layout) { l.Grants[0].Held = nil },
		"under a link":     func(l *Layout) { l.Grants[2].Path = "/bin/x" },
		"name above":       func(l *Layout) { l.Grants[0].Masked[0].Name = "../x" },
		"name absolute":    func(l *Layout) { l.Grants[0].Masked[0].Name = "/etc/passwd" },
		"name of itself":   func(l *Layout) { l.Grants[0].Masked[0].Name = "." },
		"name of a file":   func(l *Layout) { l.Grants[2].Masked = []jail.OpenName{{Name: "x"}} },
		"root home":        func(l *Layout) { l.Home = "/" },
		"home in etc":      func(l *Layout) { l.Home = "/etc/u" },
		"file outside etc": func(l *Layout) { l.Files[0].Path = "/usr/bin/sh" },
		"file by dots":     func(l *Layout) { l.Files[0].Path = "/etc/../usr/x" },
		"mask outside":     func(l *Layout) { l.Masks[0].Path = "/usr/bin/sh" },
		"negative size":    func(l *Layout) { l.Tmp = -1 },
		"masked outside of an inner grant alone": func(l *Layout) {
			l.Grants[0].Masked = append(l.Grants[0].Masked, jail.OpenName{Name: "out/.netrc"})
		},
	} {
		l := sample()
		spoil(&l)
		if _, err := NewPlan(l); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Whatever is granted: nothing of ours is made below a grant, no step's parent
// is missing, and what lies below a layer is protected only once that is mounted:
// before, the layer would cover it.
func TestS26_PlanNeverBuildsInsideAGrant(t *testing.T) {
	part := rapid.SampledFrom([]string{"home", "u", "ws", "a", "b", "tmp", "srv", "usr", "local", "etc"})
	dest := rapid.Custom(func(t *rapid.T) string {
		p := ""
		for range rapid.IntRange(1, 4).Draw(t, "depth") {
			p += "/" + part.Draw(t, "part")
		}
		return p
	})
	rapid.Check(t, func(t *rapid.T) {
		l := sample()
		l.Grants = nil
		for range rapid.IntRange(1, 4).Draw(t, "grants") {
			l.Grants = append(l.Grants, jail.OpenGrant{
				Path: dest.Draw(t, "path"), Dir: true,
				Held:     []jail.OpenName{{Name: "a", Dir: true}, {Name: "a/b", Dir: true}, {Name: "b", Dir: true}},
				ReadOnly: []jail.OpenName{{Name: "a/b/ws", Dir: true}},
			})
		}
		plan, err := NewPlan(l)
		if err != nil {
			return
		}
		exists := map[string]bool{"/": true}
		var granted, protected []string
		for _, s := range plan.Steps {
			switch s.Op {
			case OpHold, OpPin, OpHide:
				for _, done := range protected {
					if done != s.Path && jail.Within(s.Path, done) {
						t.Fatalf("%s comes after %s, which it covers", s, done)
					}
				}
				protected = append(protected, s.Path)
				continue
			case OpNest:
				continue
			}
			for _, g := range granted {
				if jail.Within(g, s.Path) {
					t.Fatalf("%s is built inside the grant %s", s, g)
				}
			}
			if inSystem := jail.Within("/usr", s.Path); !exists[path.Dir(s.Path)] && !inSystem {
				t.Fatalf("%s has no parent directory yet", s)
			}
			exists[s.Path] = true
			if s.Op == OpGrant {
				granted = append(granted, s.Path)
			}
		}
	})
}

func TestInspect(t *testing.T) {
	grants := []jail.OpenGrant{{Path: "/ws"}}
	for line, ok := range map[string]bool{
		"1 0 0:1 / /root/ws rw,nosuid,nodev - ext4 a rw":             true,
		"1 0 0:1 / /root/ws/p rw,nosuid,nodev - proc proc rw":        false,
		"1 0 0:1 / /root/ws/p rw,nosuid,nodev shared:1 - sysfs s rw": false,
		"1 0 0:1 / /root/ws rw,nodev - ext4 a rw":                    false,
		"1 0 0:1 / /root/ws rw,nosuid - ext4 a rw":                   false,
		"1 0 0:1 / /root/dev/null rw,nosuid - devtmpfs a rw":         true,
		"1 0 0:1 / /root/ws2 rw,nosuid,nodev - proc proc rw":         true,
		"1 0 0:1 / /proc rw - proc proc rw":                          true,
		`1 0 0:1 / /root/ws/a\040b rw,nosuid,nodev - bpf b rw`:       false,
	} {
		mounts, err := parseMountinfo([]byte(line + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		if err := inspect(mounts, stagedRoot, grants); (err == nil) != ok {
			t.Errorf("%s: %v, want ok %v", line, err, ok)
		}
	}
}

func FuzzMountinfo(f *testing.F) {
	f.Add([]byte("83 45 0:44 / / ro,nosuid,nodev,relatime - tmpfs none rw,size=65536k,mode=755\n"))
	f.Add([]byte(`1 0 0:1 / /a\040b\ rw - x y z` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		mounts, err := parseMountinfo(b)
		if err == nil {
			inspect(mounts, stagedRoot, []jail.OpenGrant{{Path: "/ws"}})
		}
	})
}

// TestS26_OnlyFilesOfTheNodesDirectoriesAreCovered: what covers is ours, and what
// is covered lies where no user has a say.
func TestS26_OnlyFilesOfTheNodesDirectoriesAreCovered(t *testing.T) {
	const ca = "/run/omnijail/ca.pem"
	for _, tc := range []struct {
		cover Cover
		ok    bool
	}{
		{Cover{"/usr/lib/jvm/x/lib/security/cacerts", ca}, true},
		{Cover{"/usr", ca}, false},
		{Cover{"/usr/../home/u/src/ws/x", ca}, false},
		{Cover{"/bin/x", ca}, false}, // a link
		{Cover{"/home/u/src/ws/x", ca}, false},
		{Cover{"/etc/passwd", ca}, false},
		{Cover{"usr/x", ca}, false},
		{Cover{"/usr/x", "/etc/shadow"}, false},
		{Cover{"/usr/x", "/home/u/src/ws/x"}, false},
		{Cover{"/usr/x", ""}, false},
	} {
		l := sample()
		l.Covers = []Cover{tc.cover}
		plan, err := NewPlan(l)
		if (err == nil) != tc.ok {
			t.Errorf("%+v: %v", tc.cover, err)
		}
		want := Step{Op: OpCover, Path: tc.cover.Path, Target: tc.cover.File}.String()
		if tc.ok && !slices.ContainsFunc(plan.Steps, func(s Step) bool { return s.String() == want }) {
			t.Errorf("%+v: no step covers it", tc.cover)
		}
	}
}
