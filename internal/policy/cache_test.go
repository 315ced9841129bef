package policy

import (
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
)

func TestWhichCacheAJailHas(t *testing.T) {
	for _, c := range []struct{ policy, cwd, workspace string }{
		{"", "/home/alice/app", ""},
		{"write_paths: [.]", "/home/alice/app", "/home/alice/app"},
		{"write_paths: [.]\ncache: none", "/home/alice/app", ""},
		{"cache: private", "/home/alice/app", "/home/alice/app"},
		{"write_paths: [/home/alice/app]", "/home/alice/app/sub", "/home/alice/app"},
		{"write_paths: [/home/alice/app, /home/alice/app/sub]", "/home/alice/app/sub/x", "/home/alice/app"},
		{"write_paths: [/srv/out]", "/home/alice/app", ""},
		{"write_paths: [/srv/out]\ncache: private", "/home/alice/app", "/home/alice/app"},
		{"write_paths: [/srv/out]", "/home/alice", ""},
		{"cache: private", "/home/alice", "/home/alice"},
	} {
		req := request()
		req.Cwd = c.cwd
		spec, err := Compile(inline(t, c.policy), req, facts())
		if err != nil {
			t.Errorf("%q in %s: %v", c.policy, c.cwd, err)
		} else if spec.Cache.Workspace != c.workspace {
			t.Errorf("%q in %s: the cache of %q, want that of %q", c.policy, c.cwd, spec.Cache.Workspace, c.workspace)
		}
	}
}

// Every change of what is in force makes another cache: one who may reach more
// could put there what one who may reach less believes.
func TestAChangedPolicyHasAnotherCache(t *testing.T) {
	of := func(doc string, add Add) jail.Cache {
		t.Helper()
		req := request()
		req.Add = add
		spec, err := Compile(inline(t, doc), req, facts())
		if err != nil {
			t.Fatal(err)
		}
		return spec.Cache
	}
	const doc = "write_paths: [.]\negress_rules: [GET a.example/**]\n"
	plain := of(doc, Add{})
	if again := of(doc, Add{}); again != plain || plain.Policy == "" {
		t.Errorf("%+v and %+v", plain, again)
	}
	for name, c := range map[string]jail.Cache{
		"a rule":         of("write_paths: [.]\negress_rules: [GET a.example/**, GET b.example/**]\n", Add{}),
		"an added rule":  of(doc, Add{Allow: []string{"GET b.example/**"}}),
		"a preset":       of(doc, Add{Presets: []string{"npm"}}),
		"a path to read": of(doc, Add{Read: []string{"/srv/x"}}),
	} {
		if c.Policy == plain.Policy {
			t.Errorf("%s makes no difference", name)
		}
	}
}
