package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestS25_AHardLinkedSecret: what is hidden under one name would be read under the
// other.
func TestS25_AHardLinkedSecret(t *testing.T) {
	t.Parallel()
	access := map[string]any{"access": []any{map[string]any{"groups": []string{strconv.Itoa(socketGID)}, "policies": []string{"own", "*"}, "weaken": []string{"hardlinks"}}}}
	n := NewNode(t, Options{NoLab: true, Config: access})
	dir := n.Workspace(t, Alice, map[string]string{".env": "SECRET=1", "src/x": ""})
	if err := os.Link(dir+"/.env", dir+"/src/settings"); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) Output {
		return n.Run(t, Ctl{UID: Alice, Dir: dir, Args: append(append([]string{"exec"}, args...), "--", "cat", ".env", "src/settings")})
	}
	run().wantRefused(t, dir+"/.env is hidden in the jail, and "+dir+"/src/settings is another name of the same file", "weaken: [hardlinks]")
	weak := n.write(t, "weak.yaml", "weaken: [hardlinks]\n")
	if o := run("--policy", weak).Want(t, 0); o.Stdout != "SECRET=1" {
		t.Errorf("with the weakening: %q", o.Stdout)
	}
	if err := os.Rename(dir+"/src/settings", filepath.Join(n.Home(t, Alice), "settings")); err != nil {
		t.Fatal(err)
	}
	o := n.Run(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "-v", "--", "cat", ".env"}}).Want(t, 0)
	if o.Stdout != "" || !strings.Contains(o.Stderr, dir+"/.env has 2 names") {
		t.Errorf("another name outside: %q\n%s", o.Stdout, o.Stderr)
	}
}

// TestS25_AnEnvironmentOfHardLinks is a venv as uv makes one: its files are those of
// a cache, until they are copied.
func TestS25_AnEnvironmentOfHardLinks(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	dir := n.Workspace(t, Alice, map[string]string{"x": ""})
	cache := n.Workspace(t, Alice, map[string]string{"six.py": "version = 1\n"})
	if out, err := exec.Command("setpriv", "--reuid", strconv.Itoa(Alice), "--clear-groups", "/usr/bin/python3", "-m", "venv", "--without-pip", dir+"/.venv").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	libs, err := filepath.Glob(dir + "/.venv/lib/python*/site-packages")
	if err != nil || len(libs) != 1 {
		t.Fatal(libs, err)
	}
	module := libs[0] + "/six.py"
	if err := os.Link(cache+"/six.py", module); err != nil {
		t.Fatal(err)
	}
	run := func() Output {
		return n.Run(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--write", dir, "--", "sh", "-c", "echo evil >> " + module + "; env | grep -E '^(UV_LINK|pnpm_config_pack)' | sort"}}).Want(t, 0)
	}
	o := run()
	wantLines(t, o.Stdout, "UV_LINK_MODE=copy", "pnpm_config_package_import_method=copy")
	if !strings.Contains(o.Stderr, "files in "+dir+"/.venv are hard links") || !strings.Contains(o.Stderr, "UV_LINK_MODE=copy") {
		t.Errorf("exec does not say it:\n%s", o.Stderr)
	}
	if b, err := os.ReadFile(cache + "/six.py"); err != nil || !strings.Contains(string(b), "evil") {
		t.Errorf("the cache holds %q, %v: is this no hard link?", b, err)
	}
	doctor := func() string { return n.Run(t, Ctl{UID: Alice, Dir: dir, Args: []string{"doctor"}}).Stdout }
	if text := doctor(); !strings.Contains(text, ".venv holds hard links") || !strings.Contains(text, "UV_LINK_MODE=copy") {
		t.Errorf("doctor does not say it:\n%s", text)
	}
	if err := os.Remove(cache + "/six.py"); err != nil {
		t.Fatal(err)
	}
	if o := run(); strings.Contains(o.Stderr, "hard links") || strings.Contains(doctor(), "hard links") {
		t.Errorf("said of copies:\n%s", o.Stderr)
	}
}
