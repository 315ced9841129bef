package caller

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
)

func TestS25_AnotherNameOfAHiddenOrProtectedFile(t *testing.T) {
	for name, tt := range map[string]struct {
		file, link string // below w, or ../ro and ../out
		refused    bool
		what       string
	}{
		"hidden, in the same grant":        {".env", "sub/copy", true, "hidden"},
		"hidden, in a grant to read":       {".env", "../ro/copy", true, "hidden"},
		"hidden, granted itself":           {".env", "../file", true, "hidden"},
		"hidden twice":                     {".env", ".env.local", false, ""},
		"hidden, outside":                  {".env", "../out/copy", false, ""},
		"masked by the policy":             {"secret", "sub/copy", true, "hidden"},
		"protected, in the same grant":     {".git/config", "sub/copy", true, "protected"},
		"protected, in a grant to read":    {".git/config", "../ro/copy", false, ""},
		"protected, outside":               {".git/config", "../out/copy", false, ""},
		"in a protected directory":         {".git/hooks/pre-commit", "sub/hook", true, "protected"},
		"deep in a protected directory":    {".git/hooks/d/x", "sub/hook", true, "protected"},
		"in a protected directory, twice":  {".git/hooks/pre-commit", ".git/hooks/post-commit", false, ""},
		"the policy in force":              {"policy.yaml", "sub/copy", true, "protected"},
		"a file that nobody keeps from it": {"plain", "sub/copy", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := playground(t)
			w := dir + "/w"
			for _, d := range []string{"ro", "out", "w/sub"} {
				mkdir(t, dir, d)
			}
			write(t, w, ".git/HEAD", 0o644, "")
			write(t, w, ".git/config", 0o644, "")
			file := write(t, w, tt.file, 0o644, "x")
			if err := os.Link(file, w+"/"+tt.link); err != nil {
				t.Fatal(err)
			}
			r := request(dir)
			r.View.Visible = []string{".git"}
			r.View.Grants = append(r.View.Grants, jail.Grant{Path: dir + "/ro"}, jail.Grant{Path: dir + "/file", Missing: true})
			r.View.Masks = []jail.Mask{{Path: w + "/secret"}}
			r.View.Pins = []jail.Pin{{Path: w + "/policy.yaml"}}
			o, err := open(t, Options{Request: r})
			if !tt.refused {
				if err != nil {
					t.Fatal(err)
				}
				if said := slices.ContainsFunc(o.Reply.Notes, func(n string) bool { return strings.Contains(n, " has 2 names") }); said == (tt.file == "plain") {
					t.Errorf("notes: %q", o.Reply.Notes)
				}
				return
			}
			refused(t, err, "hard_link", file+" is "+tt.what, "another name of the same file", "weaken: [hardlinks]", "cp -p "+file)
			r.View.HardLinks = true
			mustOpen(t, r)
		})
	}
}

// Where not every name can be looked at, another one may be there.
func TestS25_AGrantTooLargeToLookForOtherNames(t *testing.T) {
	dir := playground(t)
	file := write(t, dir, "w/.env", 0o600, "x")
	mkdir(t, dir, "out")
	if err := os.Link(file, dir+"/out/copy"); err != nil {
		t.Fatal(err)
	}
	for _, n := range strings.Fields("1 2 3 4 5 6 7 8") {
		write(t, dir, "ro/"+n, 0o644, "")
	}
	r := request(dir)
	r.View.Grants[0].Write = false
	r.View.Grants = append(r.View.Grants, jail.Grant{Path: dir + "/ro"})
	mustOpen(t, r)
	r.View.ScanMax = 4
	_, err := open(t, Options{Request: r})
	refused(t, err, "hard_link", file+" has 2 names, and "+dir+"/ro may hold another")
}

func TestS25_InstalledFilesThatAreHardLinks(t *testing.T) {
	dir := playground(t)
	for _, n := range []string{"w/.venv/lib/x.py", "w/node_modules/.pnpm/a/node_modules/a/index.js", "w/node_modules/a/own.js"} {
		write(t, dir, n, 0o644, "")
	}
	r := request(dir)
	r.View.Visible = []string{".venv"}
	if shared := mustOpen(t, r).Reply.Shared; len(shared) != 0 {
		t.Errorf("copies are said to be links: %v", shared)
	}
	mkdir(t, dir, "cache")
	for file, link := range map[string]string{"w/.venv/lib/x.py": "x.py", "w/node_modules/.pnpm/a/node_modules/a/index.js": "index.js"} {
		if err := os.Link(dir+"/"+file, dir+"/cache/"+link); err != nil {
			t.Fatal(err)
		}
	}
	if shared := mustOpen(t, r).Reply.Shared; !slices.Equal(shared, []string{dir + "/w/.venv", dir + "/w/node_modules"}) {
		t.Errorf("found %v", shared)
	}
	r.View.Grants[0].Write = false
	if shared := mustOpen(t, r).Reply.Shared; len(shared) != 0 {
		t.Errorf("what cannot be written: %v", shared)
	}
}
