package lowering

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/policy"
)

// The house of the property: whatever a rule is about is there at two depths.
var rooms = []string{
	"w/a", "w/.env", "w/.ssh/key", "w/.git/config", "w/.git/HEAD", "w/.git/hooks/h", "w/.git/objects/o", "w/.husky/h",
	"w/src/a", "w/src/.env", "w/src/deep/b", "w/src/deep/.ssh/key", "w/src/.git/config", "w/src/.git/HEAD", "w/src/.git/objects/o",
	"other/a", "other/.env", "other/dir/c", "home/p/a", "home/p/.env", "home/private",
}

var (
	roomDirs  = []string{"w", "w/src", "w/src/deep", "w/.ssh", "w/.git", "w/.git/hooks", "other", "other/dir", "home/p"}
	roomFiles = []string{"w/a", "w/.env", "w/src/a", "w/src/.env", "w/.git/config", "other/a", "home/p/.env"}
)

// TestNoLoweringIsWiderThanThePolicy takes policies that nobody chose through
// Compile, a real scout, the plan and both backends. What the mounts show of each
// file, and what the wall lets through, is never more than the policy says; and
// what it plainly grants arrives.
func TestNoLoweringIsWiderThanThePolicy(t *testing.T) {
	h := newHouse(t)
	h.build(t, rooms...)
	began, readable, changed, refused := 0, 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		d := draw(rt, roomDirs, roomFiles)
		doc, err := policy.DecodeFlat(d.document(t, h), someone)
		if err != nil {
			rt.Fatal(err)
		}
		l, err := h.lower(t, doc, h.path(d.Cwd))
		if err != nil {
			if !isRefusal(err) {
				rt.Fatalf("%+v: %v", d, err)
			}
			refused++
			return
		}
		began++
		shown := mounts(l.plan, l.layout.Grants)
		if err := covering(shown); err != nil {
			rt.Fatalf("%+v: %v", d, err)
		}
		for _, file := range rooms {
			got, most := seen(shown, h.path(file)), d.may(file)
			if got.read && !most.read || got.write && !most.write {
				rt.Fatalf("%+v: %s is %+v, and may be %+v at most\n%s", d, file, got, most, steps(l))
			}
			if got.read != most.read || most.write != got.write {
				rt.Fatalf("%+v: %s is %+v, and was granted %+v\n%s", d, file, got, most, steps(l))
			}
			if wall := walled(l.places, h.path(file)); got.read && !wall.read || got.write && !wall.write {
				rt.Fatalf("%+v: the wall refuses what is granted: %s, %+v, wall %+v", d, file, got, wall)
			}
			if got.read {
				readable++
			}
			if got.write {
				changed++
			}
		}
		checkWall(rt, h, d, l)
		checkBackends(rt, l)
	})
	t.Logf("%d jails, %d refused; %d files seen, %d writable", began, refused, readable, changed)
	if began == 0 || refused == 0 || readable == 0 || changed == 0 {
		t.Error("a case never came up")
	}
}

// isRefusal tells what a person is told from what should not have happened.
func isRefusal(err error) bool {
	var open *jail.OpenError
	var errs policy.Errors
	return errors.As(err, &open) || errors.As(err, &errs)
}

func steps(l *lowered) string {
	var b strings.Builder
	for _, s := range l.plan.Steps {
		b.WriteString(s.String() + "\n")
	}
	return b.String()
}

// checkWall: outside of the grants, the wall has room for the jail's own places
// alone.
func checkWall(t *rapid.T, h *house, d drawn, l *lowered) {
	own := map[string]child.Rights{
		"/": child.PlaceList, "/etc": child.PlaceRead, "/run": child.PlaceRead,
		"/usr": child.PlaceRead | child.PlaceExecute, "/bin": child.PlaceRead | child.PlaceExecute,
		"/proc": child.PlaceRead | child.PlaceUse, "/dev": child.PlaceRead | child.PlaceUse,
	}
	const all = child.PlaceRead | child.PlaceExecute | child.PlaceChange
	for _, p := range []string{"/tmp", "/dev/shm", l.layout.Home} {
		own[p] = all
	}
	for _, p := range l.places {
		rights, ours := own[p.Path]
		if i := slices.IndexFunc(d.granted(), func(g string) bool { return h.path(g) == p.Path }); i >= 0 {
			rights, ours = child.PlaceRead|child.PlaceExecute, true
			if seenWrite(d, p.Path, h) {
				rights = all
			}
		}
		if !ours || p.Rights&^rights != 0 {
			t.Fatalf("%+v: the wall has %+v, want at most %b", d, p, rights)
		}
	}
}

// seenWrite reports whether a granted path is for writing, its contents' own
// protection aside.
func seenWrite(d drawn, path string, h *house) bool {
	for _, w := range d.Write {
		if h.path(w) == path || h.path(d.Cwd) == path && jail.Within(h.path(w), path) {
			return true
		}
	}
	return false
}

// checkBackends: what either backend binds is the staged root, once, at the root,
// and empty things of ours below /proc. No path of the user's, no word of the
// request and no variable is among what a privileged process is told.
func checkBackends(t *rapid.T, l *lowered) {
	for i, arg := range l.bwrap {
		switch arg {
		case "--bind", "--bind-try", "--dev-bind-try", "--ro-bind-fd", "--bind-fd", "--overlay", "--symlink", "--file", "--setenv", "--unshare-user", "--unshare-net", "--share-net":
			t.Fatalf("bwrap is told %s", arg)
		case "--dev-bind":
			if l.bwrap[i+1] != "/root" || l.bwrap[i+2] != "/" {
				t.Fatalf("bwrap binds %v", l.bwrap[i:i+3])
			}
		case "--ro-bind":
			if !strings.HasPrefix(l.bwrap[i+1], "/empty/") || !strings.HasPrefix(l.bwrap[i+2], "/proc/") {
				t.Fatalf("bwrap binds %v", l.bwrap[i:i+3])
			}
		case "--ro-bind-try":
			if l.bwrap[i+1] != l.bwrap[i+2] || !strings.HasPrefix(l.bwrap[i+1], "/proc/") {
				t.Fatalf("bwrap binds %v", l.bwrap[i:i+3])
			}
		}
	}
	if l.reaper.Root != "/root" {
		t.Fatalf("the root without bwrap is %s", l.reaper.Root)
	}
	for _, c := range l.reaper.Covers {
		if filepath.Dir(c.Source) != "/empty" || !strings.HasPrefix(c.Dest, "/proc/") {
			t.Fatalf("without bwrap, %s covers %s", c.Source, c.Dest)
		}
	}
	for _, told := range slices.Concat(l.bwrap, l.reaper.Args()) {
		if strings.Contains(told, "lowering") || strings.Contains(told, "true") {
			t.Fatalf("a privileged process is told %q", told)
		}
	}
}
