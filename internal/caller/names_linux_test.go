package caller

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

func TestDotEntriesAreHiddenUnlessListed(t *testing.T) {
	dir := playground(t)
	w := dir + "/w"
	write(t, w, ".env", 0o600, "SECRET=1")
	write(t, w, ".config/x", 0o600, "")
	write(t, w, ".gitignore", 0o644, "")
	write(t, w, ".husky/pre-commit", 0o755, "")
	write(t, w, ".granted/x", 0o644, "")
	write(t, w, "sub/.env", 0o644, "")
	symlink(t, "sub/.env", w+"/.link")
	r := request(dir)
	r.View.Visible = []string{".git*", ".husky"}
	r.View.ReadOnly = []string{".husky"}
	r.View.Grants = append(r.View.Grants, jail.Grant{Path: w + "/.granted"})
	o := mustOpen(t, r)
	g := o.Reply.Grants[0]
	masked := names(g.Masked)
	slices.Sort(masked)
	if !slices.Equal(masked, []string{".config", ".env"}) {
		t.Errorf("masked %q", masked)
	}
	if got := names(g.ReadOnly); !slices.Equal(got, []string{".husky"}) {
		t.Errorf("read-only %q", got)
	}
	hidden := slices.Sorted(slices.Values(o.Reply.Hidden))
	if !slices.Equal(hidden, masked) {
		t.Errorf("hidden in cwd: %q", hidden)
	}
}

// A link whose name says that it carries secrets hides where it leads, wherever that
// is granted; a link with another name hides nothing.
func TestS25_LinksOfSecretNamesHideWhereTheyLead(t *testing.T) {
	dir := playground(t)
	w := dir + "/w"
	write(t, w, "conf/prod", 0o600, "SECRET=1")
	write(t, w, "conf/absolute", 0o600, "SECRET=2")
	write(t, w, "conf/shown", 0o600, "x")
	write(t, w, "keys/id", 0o600, "SECRET=3")
	write(t, dir, "other/login", 0o600, "SECRET=4")
	symlink(t, "conf/prod", w+"/.env")
	symlink(t, w+"/conf/absolute", w+"/.env.local")
	symlink(t, "conf/shown", w+"/.pypirc")
	symlink(t, "keys", w+"/.ssh")
	symlink(t, "../other/login", w+"/.netrc")
	write(t, w, "conf/chain", 0o600, "SECRET=5")
	symlink(t, w+"/via", w+"/.env.chain")
	symlink(t, "dir/chain", w+"/via")
	symlink(t, "conf", w+"/dir")
	symlink(t, "nowhere", w+"/.npmrc")
	symlink(t, ".aws", w+"/.aws")
	symlink(t, "/etc/hostname", w+"/.pgpass")
	symlink(t, "conf/shown", w+"/.current")
	r := request(dir)
	r.View.Secret = []string{".env", ".env.*", ".netrc", ".npmrc", ".pypirc", ".ssh", ".aws", ".pgpass"}
	r.View.Visible = []string{".pypirc"}
	r.View.Grants[0].Write, r.View.CwdWrite = false, false
	r.View.Grants = append(r.View.Grants, jail.Grant{Path: dir + "/other", Write: true})
	o := mustOpen(t, r)
	for _, g := range o.Reply.Grants {
		want := map[string][]string{w: {"conf/absolute", "conf/chain", "conf/prod", "keys"}, dir + "/other": {"login"}}[g.Path]
		if got := slices.Sorted(slices.Values(names(g.Masked))); !slices.Equal(got, want) {
			t.Errorf("%s: masked %q, want %q", g.Path, got, want)
		}
	}
	if hidden := slices.Sorted(slices.Values(o.Reply.Hidden)); !slices.Equal(hidden, []string{".env", ".env.chain", ".env.local", ".netrc", ".ssh"}) {
		t.Errorf("hidden in cwd: %q", hidden)
	}
	if got := slices.Sorted(slices.Values(names(grantOf(t, o, w).ReadOnly))); len(got) != 0 {
		t.Errorf("where nothing is written, %q is kept as it is", got)
	}
	r.View.Grants[0].Write, r.View.CwdWrite = true, true
	want := []string{".aws", ".env", ".env.chain", ".env.local", ".netrc", ".npmrc", ".pgpass", ".ssh", "dir", "via"}
	if got := slices.Sorted(slices.Values(names(grantOf(t, mustOpen(t, r), w).ReadOnly))); !slices.Equal(got, want) {
		t.Errorf("the links that are kept as they are: %q, want %q", got, want)
	}
	r.View.Grants = append(r.View.Grants, jail.Grant{Path: w + "/conf/prod"})
	for _, g := range mustOpen(t, r).Reply.Grants {
		if g.Path == w && slices.Contains(names(g.Masked), "conf/prod") {
			t.Error("what is granted by its own name is hidden")
		}
	}
}

func grantOf(t *testing.T, o *Opened, path string) jail.OpenGrant {
	t.Helper()
	for _, g := range o.Reply.Grants {
		if g.Path == path {
			return g
		}
	}
	t.Fatalf("%s is not granted", path)
	return jail.OpenGrant{}
}

func TestDotScanRefusesWhatItCannotKeep(t *testing.T) {
	dir := playground(t)
	w := dir + "/w"
	for i := range 20 {
		write(t, w, fmt.Sprint("f", i), 0o644, "")
	}
	r := request(dir)
	r.View.HiddenMax = 19
	_, err := open(t, Options{Request: r})
	refused(t, err, "hidden_scan", w, "more than 19", "cwd_hidden_scan")

	write(t, w, ".vscode/settings.json", 0o644, "")
	r = request(dir)
	r.View.Grants = append(r.View.Grants, jail.Grant{Path: w + "/.vscode/settings.json"})
	_, err = open(t, Options{Request: r})
	refused(t, err, "hidden", ".vscode", "cwd_allow_hidden: [.vscode]")
}

func TestMasksFollowTheCallersLinks(t *testing.T) {
	dir := playground(t)
	w := dir + "/w"
	write(t, w, "deep/er/secret", 0o600, "x")
	symlink(t, "deep/er/secret", w+"/alias")
	r := request(dir)
	r.View.Masks = []jail.Mask{{Path: w + "/alias"}, {Path: w + "/absent"}, {Path: "/usr/share"}}
	o := mustOpen(t, r)
	if got := names(o.Reply.Grants[0].Masked); !slices.Equal(got, []string{"deep/er/secret"}) {
		t.Fatalf("masked %q", got)
	}
}

// What decides over later jails: the trust store of a user, and their policies.
// Renaming a directory above would carry the mask away, and where there is none
// yet, the command would be the first to make it.
func TestS03_OmnijailsOwnIsNobodysToMake(t *testing.T) {
	dir := playground(t)
	w := dir + "/w"
	write(t, w, "state/omnijail/trust.json", 0o644, "{}")
	own := func(p string) []jail.Mask { return []jail.Mask{{Path: p, Own: true}} }
	r := request(dir)
	r.View.Masks = own(symlink(t, "w/state/omnijail", dir+"/alias"))
	g := mustOpen(t, r).Reply.Grants[0]
	if !slices.Equal(names(g.Masked), []string{"state/omnijail"}) || !slices.Equal(names(g.Held), []string{"state"}) {
		t.Errorf("masked %q, held %q", names(g.Masked), names(g.Held))
	}
	for _, grant := range []string{w + "/state/omnijail", w + "/state/omnijail/trust.json", dir + "/alias"} {
		r.View.Grants = append(request(dir).View.Grants, jail.Grant{Path: grant})
		_, err := open(t, Options{Request: r})
		refused(t, err, "mask", "omnijail's own")
	}
	r = request(dir)
	r.View.Masks = own(w + "/absent/state/omnijail")
	_, err := open(t, Options{Request: r})
	refused(t, err, "mask", "could make it below "+w)
	r.View.Masks = own(dir + "/absent/state/omnijail") // below no grant
	mustOpen(t, r)
	r.View.Masks[0].Own = false
	r.View.Masks[0].Path = w + "/absent"
	mustOpen(t, r)
}

func TestGitConfigAndHooksOfAWritableGrantAreProtected(t *testing.T) {
	for name, tt := range map[string]struct {
		files          []string
		readonly, held []string
	}{
		"working tree": {[]string{".git/config", ".git/hooks/x", ".git/HEAD"}, []string{".git/config", ".git/hooks"}, []string{".git"}},
		"worktree":     {[]string{".git"}, []string{".git"}, nil},
		"bare":         {[]string{"HEAD", "objects/x", "config", "hooks/x"}, []string{"config", "hooks"}, nil},
		"none":         {[]string{"config", "hooks/x"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := playground(t)
			for _, f := range tt.files {
				write(t, dir+"/w", f, 0o644, "x")
			}
			r := request(dir)
			r.View.Visible = []string{".git"}
			g := mustOpen(t, r).Reply.Grants[0]
			if got := names(g.ReadOnly); !slices.Equal(got, tt.readonly) {
				t.Errorf("read-only %q, want %q", got, tt.readonly)
			}
			if got := names(g.Held); !slices.Equal(got, tt.held) {
				t.Errorf("held %q, want %q", got, tt.held)
			}
		})
	}
}

func TestS03_ThePolicyInForceIsPinnedWithItsParents(t *testing.T) {
	dir := playground(t)
	policy := write(t, dir+"/w", "a/b/policy.yaml", 0o644, "x")
	r := request(dir)
	r.View.Pins = []jail.Pin{{Path: symlink(t, "w/a/b/policy.yaml", dir+"/alias")}, {Path: dir + "/absent"}}
	o := mustOpen(t, r)
	g := o.Reply.Grants[0]
	if got := names(g.ReadOnly); !slices.Equal(got, []string{"a/b/policy.yaml"}) {
		t.Errorf("read-only %q", got)
	}
	if got := names(g.Held); !slices.Equal(got, []string{"a/b", "a"}) {
		t.Errorf("held %q", got)
	}
	if !slices.Equal(o.Reply.Pins, []string{policy}) || len(o.Pins) != 1 {
		t.Errorf("pins %q with %d descriptors", o.Reply.Pins, len(o.Pins))
	}

	r.View.Grants = append(r.View.Grants, jail.Grant{Path: policy, Write: true})
	for _, g := range mustOpen(t, r).Reply.Grants {
		if g.Path == policy && g.Write {
			t.Error("a grant of the policy file itself is writable")
		}
	}
}

func TestResolveAnswersWithDescriptorsBelowTheTree(t *testing.T) {
	dir := playground(t)
	w := dir + "/w"
	write(t, w, ".env", 0o600, "x")
	write(t, w, ".gone", 0o600, "x")
	write(t, w, ".git/config", 0o600, "x")
	r := request(dir)
	r.View.Visible = []string{".git"}
	o := mustOpen(t, r)
	os.Remove(w + "/.gone")
	got, err := o.Resolve(context.Background(), o.Grants, again)
	if err != nil {
		t.Fatal(err)
	}
	g := o.Reply.Grants[0]
	for i, n := range slices.Concat(g.Held, g.ReadOnly, g.Masked) {
		f := got.Names[0][i]
		if n.Name == ".gone" {
			if f != nil {
				t.Error("a name that has gone has a descriptor")
			}
			continue
		}
		p, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
		if err != nil || p != filepath.Join(w, n.Name) {
			t.Errorf("%s: descriptor of %s, %v", n.Name, p, err)
		}
		f.Close()
	}
}

func TestResolveRefusesAProtectedNameThatChanged(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, config string){
		"gone":        func(t *testing.T, p string) { os.Remove(p) },
		"a link":      func(t *testing.T, p string) { os.Remove(p); symlink(t, "/etc/passwd", p) },
		"a directory": func(t *testing.T, p string) { os.Remove(p); mkdir(t, filepath.Dir(p), "config") },
		"below a link": func(t *testing.T, p string) {
			os.Rename(filepath.Dir(p), filepath.Dir(p)+"2")
			symlink(t, ".git2", filepath.Dir(p))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := playground(t)
			config := write(t, dir+"/w", ".git/config", 0o644, "x")
			r := request(dir)
			r.View.Visible = []string{".git"}
			o := mustOpen(t, r)
			change(t, config)
			_, err := o.Resolve(context.Background(), o.Grants, again)
			refused(t, err, "protect", ".git")
		})
	}
}

// A masked name that is swapped for a link while it is resolved never yields a
// descriptor of what the link leads to.
func TestS26_ASwappedNameNeverLeadsOutside(t *testing.T) {
	dir := playground(t)
	env := write(t, dir+"/w", ".env", 0o600, "x")
	symlink(t, "/etc/passwd", dir+"/w/x")
	c, ok := newChild(t), 0
	for range 50 {
		o, err := Open(context.Background(), Options{Child: c, Request: request(dir)})
		if err != nil {
			t.Fatal(err)
		}
		stop := swap(t, env, dir+"/w/x")
		got, err := o.Resolve(context.Background(), o.Grants, again)
		stop()
		if err == nil && len(got.Names[0]) > 0 && got.Names[0][0] != nil {
			ok++
			if p, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", got.Names[0][0].Fd())); p != env && p != dir+"/w/x" {
				t.Fatalf("descriptor of %s", p)
			}
			got.Names[0][0].Close()
		}
		o.Close()
	}
	t.Logf("%d of 50 rounds met the file, the others a link", ok)
}

// A grant inside another lies on the same mount, and it is said what to do otherwise.
func TestAGrantOnAMountInsideAnother(t *testing.T) {
	dir := playground(t)
	w := dir + "/w"
	mkdir(t, w, "mnt")
	if err := unix.Mount("tmpfs", w+"/mnt", "tmpfs", 0, "mode=777"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(w+"/mnt", unix.MNT_DETACH) })
	r := request(dir)
	r.View.Grants = append(r.View.Grants, jail.Grant{Path: w + "/mnt", Write: true})
	_, err := open(t, Options{Request: r})
	refused(t, err, "grant", w+"/mnt is on a mount of its own inside "+w, "write_paths: ["+w+"]")
	r.View.Grants = []jail.Grant{{Path: w}, {Path: w + "/mnt", Write: true}}
	_, err = open(t, Options{Request: r})
	refused(t, err, "grant", w+"/mnt is on a mount of its own inside "+w, "read_paths: ["+w+"]") // nobody is told to open more
	r.View.Grants = []jail.Grant{{Path: w, Write: true}}
	mustOpen(t, r)
}
