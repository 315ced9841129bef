package policy

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
)

func TestS26_TheWorkingDirectory(t *testing.T) {
	for _, cwd := range []string{"/", "/home", "/etc", "/proc/self", "/tmp", "/home/alice/.config/omnijail/policies", "rel", "/a/../b", ""} {
		req := request()
		req.Cwd = cwd
		if _, err := Compile(inline(t, ""), req, facts()); err == nil {
			t.Errorf("%q may be the working directory", cwd)
		}
	}
	f := facts()
	f.Reserved = []string{"/srv/omnijail"}
	req := request()
	req.Cwd = "/srv/omnijail/run"
	if _, err := Compile(inline(t, ""), req, f); err == nil {
		t.Error("the daemon's own directory may be granted")
	}
}

// A command typed right after logging in runs, in an empty home: none of the real
// one is granted, and none can be.
func TestS26_TheHomeDirectoryAsWorkingDirectory(t *testing.T) {
	req := request()
	req.Cwd = "/home/alice"
	spec, err := Compile(inline(t, ""), req, facts())
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range spec.View.Grants {
		if jail.Within(g.Path, req.Cwd) || jail.Within(req.Cwd, g.Path) {
			t.Errorf("%s is granted", g.Path)
		}
	}
	for _, grant := range []string{"write_paths: [.]", `read_paths: ["~"]`} {
		if _, err := Compile(inline(t, grant), req, facts()); err == nil {
			t.Errorf("%s may grant the home directory", grant)
		}
	}
}

// What decided this jail cannot be changed by it, and the trust store is not
// seen, whatever is granted above them.
func TestS03_PinsAndTheTrustStore(t *testing.T) {
	raw := `{"doc":{"write_paths":["/home/alice/.config","/home/alice/.local"]},"path":"/home/alice/app/.omnijail.yaml",` +
		`"files":["/home/alice/app/.omnijail.yaml","/home/alice/.config/omnijail/policies/base.yaml"]}`
	doc, err := DecodeFlat([]byte(raw), 1000)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := Compile(doc, request(), facts())
	if err != nil {
		t.Fatal(err)
	}
	var pins, masks []string
	for _, p := range spec.View.Pins {
		pins = append(pins, p.Path)
	}
	for _, m := range spec.View.Masks {
		masks = append(masks, m.Path)
	}
	if !slices.Equal(pins, doc.Files) {
		t.Errorf("pins %v, want %v", pins, doc.Files)
	}
	if want := []string{"/home/alice/.config/omnijail", "/home/alice/.local/state/omnijail"}; !slices.Equal(masks, want) {
		t.Errorf("masks %v, want %v", masks, want)
	}
}

func TestDotEntriesByDefault(t *testing.T) {
	spec, err := Compile(inline(t, ""), request(), facts())
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{".env", ".netrc", ".npmrc", ".ssh", ".envrc", ".vscode", ".omnijail.yaml", ".git-credentials", ".config"} {
		if slices.Contains(spec.View.Visible, secret) {
			t.Errorf("%s is visible by default", secret)
		}
	}
	for _, ro := range readOnlyDot {
		if !slices.Contains(spec.View.Visible, ro) {
			t.Errorf("%s is read-only and not visible", ro)
		}
	}
	for _, n := range slices.Concat(readOnlyDot, controlNames) {
		if !slices.Contains(spec.View.ReadOnly, n) {
			t.Errorf("%s may be written where it is visible", n)
		}
	}
}

// No environment and no user's path stand in the part that privileged programs
// are started from.
func TestS01_OCIHoldsNothingOfTheCallersEnvironment(t *testing.T) {
	req := request()
	req.Env = map[string]string{"LD_PRELOAD": "/home/alice/x.so", "TOKEN": "hunter2"}
	spec, err := Compile(inline(t, "env: {GLIBC_TUNABLES: zebra}\nread_paths: [/srv/secret-place]"), req, facts())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(spec.OCI)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"LD_PRELOAD", "x.so", "hunter2", "zebra", "secret-place"} {
		if strings.Contains(string(text), word) {
			t.Errorf("%s is in the OCI part", word)
		}
	}
	if spec.Env.Set["TOKEN"] != "hunter2" {
		t.Error("--env is lost")
	}
}

func TestOCIFloor(t *testing.T) {
	spec, err := Compile(inline(t, ""), request(), facts())
	if err != nil {
		t.Fatal(err)
	}
	p := spec.OCI.Process
	if !p.NoNewPrivileges || !reflect.ValueOf(*p.Capabilities).IsZero() || p.Env != nil {
		t.Errorf("process %+v", p)
	}
	if len(spec.OCI.Linux.Namespaces) != 6 {
		t.Errorf("namespaces %v", spec.OCI.Linux.Namespaces)
	}
	if r := p.Rlimits[0]; r.Type != "RLIMIT_CORE" || r.Hard != 1 || r.Soft != 1 {
		t.Errorf("core limit %+v: only exactly 1 keeps a piped handler away", r)
	}
	for _, m := range spec.OCI.Mounts {
		if m.Type == "bind" && !slices.Contains(m.Options, "ro") {
			t.Errorf("%s is a writable bind of the node's", m.Destination)
		}
	}
}

func TestBackends(t *testing.T) {
	weak := facts()
	weak.Guarantees = map[string][]jail.Guarantee{"linux_bwrap": {jail.Files}}
	none := facts()
	none.Guarantees = nil
	for name, f := range map[string]Facts{"too weak": weak, "absent": none} {
		_, err := Compile(inline(t, ""), request(), f)
		if err == nil || !asErrors(t, err).Has("unsupported") {
			t.Errorf("%s: %v", name, err)
		}
	}
	req := request()
	req.Backend = "none"
	if _, err := Compile(inline(t, ""), req, facts()); err == nil {
		t.Error("backend none is accepted by a flag")
	}
}

func TestScratchHome(t *testing.T) {
	for home, want := range map[string]string{
		"/home/alice": "/home/alice", "/root": "/root", "/var/lib/ci": "/var/lib/ci",
		"": "/home/u7", "/": "/home/u7", "/nonexistent/../etc": "/home/u7", "/etc": "/home/u7", "/usr": "/home/u7", "/tmp": "/home/u7", "/home": "/home/u7", "rel": "/home/u7",
	} {
		if got := ScratchHome(jail.User{UID: 7, Home: home}); got != want {
			t.Errorf("home %q: scratch %q, want %q", home, got, want)
		}
	}
}

// What a document says is the same before and after the wire, and Compile is a
// function.
func TestCompileIsPure(t *testing.T) {
	doc := inline(t, "extends: [github-read]\nwrite_paths: [.]\nenv: {A: b}")
	a, err := Compile(doc, request(), facts())
	if err != nil {
		t.Fatal(err)
	}
	b, err := Compile(doc, request(), facts())
	if err != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("two runs differ (%v)", err)
	}
}

func TestS32_WhatTheJailIsTold(t *testing.T) {
	doc := inline(t, "extends: [github-read]\nread_paths: [/srv/data]\nlimits: {timeout: 60s, memory: 512MiB, pids: 100}\nenv: {A: hunter2}")
	spec, err := Compile(doc, request(), facts())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "rules": [
    "GET,HEAD api.github.com/**",
    "GET github.com/**/info/refs (query service=git-upload-pack)",
    "POST github.com/**/git-upload-pack",
    "GET,HEAD codeload.github.com/**",
    "GET,HEAD raw.githubusercontent.com/**",
    "GET,HEAD objects.githubusercontent.com/**"
  ],
  "limits": [
    "timeout 1m0s",
    "memory 512 MiB",
    "pids 100"
  ]
}
`
	if got := string(Inside(spec)); got != want {
		t.Errorf("got %s", got)
	}
}

func BenchmarkCompile(b *testing.B) {
	doc, err := Preset("github-read")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Compile(doc, request(), facts()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeFlat(b *testing.B) {
	raw := []byte(`{"extends":["github-read"],"write_paths":["."]}`)
	for b.Loop() {
		if _, err := DecodeFlat(raw, 1000); err != nil {
			b.Fatal(err)
		}
	}
}

func TestBackendsInOrder(t *testing.T) {
	both, bare := facts(), facts()
	both.Backends = []string{"linux_bwrap"}
	both.Guarantees = map[string][]jail.Guarantee{"linux_bwrap": jail.Guarantees, "linux_landlock": jail.Guarantees}
	bare.Backends = both.Backends
	bare.Guarantees = map[string][]jail.Guarantee{"linux_landlock": jail.Guarantees}
	for _, c := range []struct {
		policy string
		facts  Facts
		want   []string // nil: refused
		passed string
	}{
		{"", both, []string{"linux_bwrap"}, ""},
		{"", bare, nil, ""}, // never a fallback that nobody asked for
		{"backend: linux_landlock", both, []string{"linux_landlock"}, ""},
		{"backend: linux_bwrap", bare, nil, ""},
		{"backend: [linux_landlock, linux_bwrap]", both, []string{"linux_landlock", "linux_bwrap"}, ""},
		{"backend: [linux_bwrap, linux_landlock]", bare, []string{"linux_landlock"}, "linux_bwrap cannot run here"},
		{"weaken: [nested_sandbox]", both, []string{"linux_bwrap"}, ""},
		{"weaken: [nested_sandbox]", bare, nil, ""},
		{"backend: [linux_landlock, linux_bwrap]\nweaken: [nested_sandbox]", both, []string{"linux_bwrap"}, "linux_landlock cannot keep nested_sandbox"},
		{"backend: linux_landlock\nweaken: [compat_abi]", both, nil, ""},
	} {
		spec, err := Compile(inline(t, c.policy), request(), c.facts)
		if err != nil {
			if c.want != nil || !asErrors(t, err).Has("unsupported") {
				t.Errorf("%s: %v", c.policy, err)
			}
			continue
		}
		if !slices.Equal(spec.Backends, c.want) || !strings.HasPrefix(spec.Passed, c.passed) || c.passed == "" && spec.Passed != "" {
			t.Errorf("%s: %v, passed over %q", c.policy, spec.Backends, spec.Passed)
		}
	}
}

func TestABackendThatIsNone(t *testing.T) {
	req := request()
	req.Backend = "linux_bwrpa"
	_, err := Compile(inline(t, ""), req, facts())
	if want := `backend: there is no "linux_bwrpa" (there are linux_bwrap and linux_landlock)`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// Where nothing runs, the words are those of the backend that was preferred.
func TestTheObstacleOfThePreferredBackend(t *testing.T) {
	none := facts()
	none.Backends = []string{"linux_bwrap"}
	none.Guarantees = nil
	none.Obstacles = map[string]Obstacle{"linux_bwrap": {Reason: "no bwrap here", Fix: "install it"}, "linux_landlock": {Reason: "no Landlock here"}}
	for policy, want := range map[string]string{"": "no bwrap here", "backend: linux_landlock": "no Landlock here"} {
		if _, err := Compile(inline(t, policy), request(), none); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", policy, err, want)
		}
	}
}

// The size of the scratch space has two places in a policy, of which the smaller holds.
func TestScratchHasTwoPlaces(t *testing.T) {
	for text, want := range map[string]int64{
		"scratch: 64MiB\nlimits: {scratch: 1GiB}": 64 << 20, "limits: {scratch: 64MiB}\nscratch: 1GiB": 64 << 20, "home: scratch\nscratch: 2MiB": 2 << 20,
	} {
		if got := inline(t, text).Limits.Scratch; got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// A command that makes mount namespaces of its own has what is protected in each of
// them. Put back in one alone, a replaced file would stay open in the others: a loop
// in such a namespace was seen to write .git/config from then on.
func TestS09_NamespacesOfItsOwnAreNotRestaged(t *testing.T) {
	for text, want := range map[string]string{
		"on_replaced: restage\nweaken: [nested_sandbox]": "on_replaced: restage cannot be together with weaken: [nested_sandbox]",
		"on_replaced: restage\nweaken: [ptrace]":         "",
		"on_replaced: kill\nweaken: [nested_sandbox]":    "",
	} {
		_, err := Compile(inline(t, text), request(), facts())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
