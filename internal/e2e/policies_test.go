package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sourcePolicy takes its credential from a command.
func sourcePolicy(writable string, argv ...string) string {
	return fmt.Sprintf("write_paths: ["+writable+"]\negress_rules: [\"GET x.test/**\"]\n"+
		"credential_proxy: [{type: https_bearer, target: x.test, resolve: start, source: {command: [\"%s\"]}}]\n", strings.Join(argv, `", "`))
}

func TestS03_APolicyThatTheJailCanWriteIsNotObeyed(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	out := n.Workspace(t, Alice, nil)
	mark := filepath.Join(out, "mark")
	evil := sourcePolicy(".", "touch", mark)
	dir := n.Workspace(t, Alice, map[string]string{".omnijail.yaml": evil, "conf/p.yaml": evil})
	for _, args := range [][]string{
		nil, {"--policy", ".omnijail.yaml"}, {"--policy", "./.omnijail.yaml"}, {"--policy", dir + "/.omnijail.yaml"},
		{"--policy", "conf/p.yaml"}, {"--policy", "conf/../conf/p.yaml"}, {"--policy", "conf/p.yaml", "--cwd", dir},
	} {
		o := n.Run(t, Ctl{UID: Alice, Dir: dir, Args: append(append([]string{"exec"}, args...), "--", "true")})
		o.wantRefused(t, " is new", "policy trust")
		wantNone(t, mark)
	}
	// The same command from a policy outside runs, as the person's own wish.
	file := filepath.Join(out, "p.yaml")
	if err := errors.Join(os.WriteFile(file, []byte(evil), 0o644), os.Chown(file, Alice, Alice)); err != nil {
		t.Fatal(err)
	}
	n.Run(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--policy", file, "--", "true"}})
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("the marker cannot be left at all: %v", err)
	}
}

func TestS03_ProgramsThatTheJailCanWriteAreNotRun(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	out := n.Workspace(t, Alice, nil)
	mark := filepath.Join(out, "mark")
	dir := n.Workspace(t, Alice, map[string]string{"token.sh": "#!/bin/sh\ntouch " + mark + "\necho token\n"})
	os.Chmod(filepath.Join(dir, "token.sh"), 0o755)
	link := filepath.Join(out, "link.sh")
	if err := os.Symlink(filepath.Join(dir, "token.sh"), link); err != nil {
		t.Fatal(err)
	}
	for i, argv := range [][]string{
		{dir + "/token.sh"}, {"sh", dir + "/token.sh"}, {link}, {"sh", link}, {"./token.sh"}, {"token.sh"}, {"../" + filepath.Base(dir) + "/token.sh"},
		{"env", "sh", dir + "/token.sh"}, {"/proc/self/cwd/token.sh"}, {"sh", "/proc/self/cwd/" + dir + "/token.sh"},
	} {
		file := filepath.Join(out, fmt.Sprintf("p%d.yaml", i))
		text := sourcePolicy(dir, argv...)
		if err := errors.Join(os.WriteFile(file, []byte(text), 0o644), os.Chown(file, Alice, Alice)); err != nil {
			t.Fatal(err)
		}
		o := n.Run(t, Ctl{UID: Alice, Dir: dir, Env: []string{"PATH=" + dir + ":/usr/bin:/bin"}, Args: []string{"exec", "--policy", file, "--", "true"}})
		if _, err := os.Stat(mark); err == nil || o.Exit == 0 {
			t.Errorf("%q: exit %d, ran: %v; %s", argv, o.Exit, err == nil, o.Stderr)
			os.Remove(mark)
		}
	}
}

// The policy in force stays what it is, whatever is granted.
func TestS03_ThePolicyInForceStays(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	const policy = "write_paths: [\".\"]\n"
	dir := n.Workspace(t, Alice, map[string]string{"a/b/p.yaml": policy, ".omnijail.yaml": policy, "file": "x"})
	for _, name := range []string{"a/b/p.yaml", ".omnijail.yaml"} {
		n.Run(t, Ctl{UID: Alice, Dir: dir, Args: []string{"policy", "trust", name}}).Want(t, 0)
	}
	const script = `
		p=$1
		{ echo 'weaken: [no_isolation]' > $p; true >> $p; cp file $p; mv file $p; rm -f $p; ln -sf /etc/passwd $p; ln -f file $p; chmod 666 $p; truncate -s 0 $p; touch -d 2001-01-01 $p
		mv a c; mv a/b a/c; rm -rf a/b; mkdir -p a/b; echo evil > a/b/p.yaml; mv . ../w; mv $PWD $PWD.old
		python3 -c 'import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.renameat2(-100, b"a", -100, b"d", 2), l.renameat2(-100, b"a/b", -100, b"d", 0))'
		ln a/b/p.yaml hard && echo evil > hard; ( exec 3<>$p && echo evil >&3 ); mount -o remount,rw .; umount $p; } >/dev/null 2>&1
		echo made > by-jail`
	for _, name := range []string{"a/b/p.yaml", ".omnijail.yaml"} {
		n.Run(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--policy", name, "--write", ".", "--", "sh", "-c", "mkdir -p d; " + script, "sh", name}}).Want(t, 0)
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != policy {
			t.Errorf("%s is now %q, %v", name, b, err)
		}
		if fi, err := os.Lstat(filepath.Join(dir, name)); err != nil || fi.Mode() != 0o644 {
			t.Errorf("%s is now %v, %v", name, fi.Mode(), err)
		}
		if _, err := os.Stat(filepath.Join(dir, "by-jail")); err != nil {
			t.Errorf("the directory was not writable at all: %v", err)
		}
		n.Run(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--policy", name, "--", "true"}}).Want(t, 0)
	}
}

func TestS03_TheTrustStoreAndOwnPoliciesAreOutOfReach(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	home := n.Home(t, Alice)
	for _, d := range []string{".config/omnijail/policies", ".local/state/omnijail"} {
		if err := os.MkdirAll(filepath.Join(home, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	own := filepath.Join(home, ".config/omnijail/policies/default.yaml")
	trust := filepath.Join(home, ".local/state/omnijail/trust.json")
	for _, f := range []string{own, trust} {
		if err := os.WriteFile(f, []byte("{}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := filepath.Walk(home, func(p string, _ os.FileInfo, err error) error { return errors.Join(err, os.Chown(p, Alice, Alice)) }); err != nil {
		t.Fatal(err)
	}
	attempt := func(grant string) Output {
		return n.Run(t, Ctl{UID: Alice, Args: []string{"exec", "--write", filepath.Join(home, grant), "--", "sh", "-c",
			`for f in "$@"; do for d in "${f%/*}" "${f%/*/*}" "${f%/*/*/*}"; do
				echo evil > $f; rm -f $f; mv $d $d.old && mkdir -p ${f%/*} && echo evil > $f
			done; done 2>/dev/null; true`, "sh", own, trust}})
	}
	for _, grant := range []string{".", ".config", ".local", ".local/state", ".config/omnijail", ".local/state/omnijail", ".local/state/omnijail/trust.json", ".config/omnijail/policies", "alias"} {
		os.Symlink(".local", filepath.Join(home, "alias"))
		o := attempt(grant)
		for _, f := range []string{own, trust} {
			if b, err := os.ReadFile(f); err != nil || string(b) != "{}\n" {
				t.Errorf("with %s granted (exit %d %s): %s is now %q, %v", grant, o.Exit, o.Stderr, f, b, err)
			}
		}
	}
	for _, d := range []string{".config/omnijail", ".local/state/omnijail"} {
		if err := os.RemoveAll(filepath.Join(home, d)); err != nil {
			t.Fatal(err)
		}
	}
	for _, grant := range []string{".config", ".local", ".local/state", "alias"} {
		attempt(grant).wantRefused(t, "the command could make it")
		wantNone(t, own, trust)
	}
}
