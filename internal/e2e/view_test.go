package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a jail sees of the node: planted files must not be there, and nor may
// what is there on every node.
func TestS26_NothingOfTheNodeIsVisible(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	dir := n.Workspace(t, Alice, map[string]string{"own": "mine"})
	secret := "planted-on-the-node-815"
	var planted []string
	plant := func(path string, uid int) {
		t.Helper()
		if err := os.WriteFile(path, []byte(secret), 0o644); err != nil {
			t.Fatal(err)
		}
		os.Chown(path, uid, uid)
		planted = append(planted, path)
		t.Cleanup(func() { os.Remove(path) })
	}
	for _, d := range []string{"/root", "/run", "/var/tmp", "/tmp", "/dev/shm", "/srv", "/mnt", "/home", "/var/lib", n.Home(t, Alice), n.Home(t, Bob)} {
		if fi, err := os.Stat(d); err == nil && fi.IsDir() {
			plant(filepath.Join(d, fmt.Sprintf("oj-%d", os.Getpid())), Alice)
		}
	}
	out := n.sh(t, dir, `for p in `+strings.Join(planted, " ")+`; do test -e $p && echo there $p; done
		ls -A /root /home /srv /mnt /boot /lost+found 2>/dev/null | grep . && echo not empty
		ls -A /run; ls -A /run/omnijail; ls -A /var 2>/dev/null; ls -A /sys
		cat /etc/shadow /etc/sudoers /etc/gshadow /etc/ssl/private/* /etc/hostname 2>/dev/null
		find / -xdev -perm /6000 -type f -writable 2>/dev/null; cat own`)
	wantLines(t, out, "omnijail", "bundle.pem", "ca.pem", "cacerts", "chromium.json", "nssdb", "policy.json", "devices", "omnijail", "mine")
	for _, p := range []string{"/proc/kcore", "/proc/keys", "/proc/sysrq-trigger", "/proc/timer_list", "/proc/latency_stats"} {
		if o := n.Exec(t, "--", "sh", "-c", "head -c 1 "+p+" | wc -c; echo b > "+p); !strings.HasPrefix(o.Stdout, "0") || o.Exit == 0 {
			t.Errorf("%s: %q, exit %d", p, o.Stdout, o.Exit)
		}
	}
}

// A daemon's control socket is a way out, wherever a jail could find it.
func TestS13_TheControlSocketIsNotThere(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	dir := n.Workspace(t, Alice, nil)
	// abstract names belong to a network namespace: this one is the node's
	abstract, err := net.Listen("unix", "@oj-attack")
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	script := `import os, socket, sys
for name in sys.argv[1:] + ["\0oj-attack"]:
    try:
        socket.socket(socket.AF_UNIX).connect(name)
        print("connected", name)
    except OSError as e:
        pass
for fd in range(3, 4096):
    try:
        print("inherited", fd, os.readlink("/proc/self/fd/%d" % fd)) if os.fstat(fd) else 0
    except OSError:
        pass
for l in open("/proc/net/unix"):
    if "/" in l.split()[-1] or "@" in l.split()[-1]:
        print("listed", l)
`
	names := []string{n.Socket, "/run/omnijail/omnijaild.sock", "/proc/1/root" + n.Socket, "/var/run/docker.sock", "/run/docker.sock", "/run/systemd/private"}
	o := n.Run(t, Ctl{UID: Alice, Dir: dir, Args: append([]string{"exec", "--", "python3", "-c", script}, names...)}).Want(t, 0)
	wantLines(t, o.Stdout, "")

	t.Run("nor may its directory be granted", func(t *testing.T) {
		for _, path := range []string{n.Dir + "/run", n.Socket} {
			o := n.Exec(t, "--read", path, "--", "python3", "-c", script, n.Socket)
			if strings.Contains(o.Stdout, "connected") {
				t.Errorf("with --read %s: %s", path, o.Stdout)
			}
		}
	})
}

func TestS26_DestinationsThatAreRefused(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	link := n.Workspace(t, Alice, nil)
	for name, to := range map[string]string{"proc": "/proc", "dev": "/dev/shm", "cg": "/sys/fs/cgroup", "root": "/"} {
		if err := os.Symlink(to, filepath.Join(link, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{
		"/", "/usr", "/etc", "/etc/ssl", "/proc", "/proc/self", "/proc/1/root", "/sys", "/sys/fs/cgroup", "/dev", "/dev/shm", "/dev/pts",
		"/run", "/run/omnijail", "/tmp", "/usr/libexec/omnijail", "/bin", "/lib", "/..", "/tmp/../etc",
		link + "/proc", link + "/dev", link + "/cg", link + "/root", link + "/proc/self/root",
	} {
		for _, flag := range []string{"--read", "--write"} {
			o := n.Exec(t, flag, path, "--", "true")
			if o.Exit != 125 || !strings.Contains(o.Stderr, "omnijailctl: ") {
				t.Errorf("%s %s: exit %d, %s", flag, path, o.Exit, o.Stderr)
			}
		}
	}
}

// Nothing may be mounted on the node for a jail, and nothing of the node's comes
// into a running jail later.
func TestS26_MountsStayApart(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	dir := n.Workspace(t, Alice, map[string]string{"sub/x": "", ".env": "SECRET"})
	before, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	out := n.sh(t, dir, `cat .env; for f in nosuid nodev; do
		grep " `+dir+` " /proc/self/mountinfo | grep -q $f || echo no $f; done
		grep -E ' (shared|master|propagate_from):' /proc/self/mountinfo
		echo x > .env; mv .env other; true`)
	wantLines(t, out, "")
	if b, err := os.ReadFile(filepath.Join(dir, ".env")); err != nil || string(b) != "SECRET" {
		t.Errorf("the masked file is now %q, %v", b, err)
	}
	after, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Errorf("the node's mounts changed:\n%s\n%s", before, after)
	}
}

// What a line gives beyond its task is said where the policy is loaded: by the client
// that checks it, and with each command.
func TestBroadGrantsAreSaid(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	keys := filepath.Join(n.Home(t, Alice), ".ssh")
	if err := os.Mkdir(keys, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(n.Workspace(t, Alice, map[string]string{"p.yaml": "description: x\nread_paths: [~/.ssh]\n"}), "p.yaml")
	want := file + ":2: read " + keys + ": credentials are kept there"
	for _, args := range [][]string{{"policy", "check", file}, {"exec", "--policy", file, "--", "true"}} {
		if o := n.Run(t, Ctl{UID: Alice, Args: args}).Want(t, 0); !strings.Contains(o.Stdout+o.Stderr, want) {
			t.Errorf("%v says %q, not %q", args, o.Stdout+o.Stderr, want)
		}
	}
	if o := n.Exec(t, "--read", keys, "--", "true").Want(t, 0); !strings.Contains(o.Stderr, "--read: read "+keys) {
		t.Errorf("the flag: %q", o.Stderr)
	}
}

// A secret that is kept elsewhere in the workspace, under a name that hides nothing.
func TestS25_ASecretBehindALinkIsHidden(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	dir := n.Workspace(t, Alice, map[string]string{"conf/prod": "SECRET", "conf/x": "open"})
	if err := os.Symlink("conf/prod", filepath.Join(dir, ".env")); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{{}, {"--write", "."}, {"--backend", alone, "--write", "."}} {
		args := append(append([]string{"exec"}, flags...), "--", "sh", "-c", "cat .env conf/prod conf/x; echo evil > conf/prod; mv conf gone; rm -f .env; ln -sf conf/x .env; mv .env gone; false")
		o := n.Run(t, Ctl{UID: Alice, Dir: dir, Args: args}).Want(t, 1)
		if o.Stdout != "open" || !strings.Contains(o.Stderr, "hidden in this directory: .env\n") {
			t.Errorf("%v: %q\n%s", flags, o.Stdout, o.Stderr)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "conf/prod")); err != nil || string(b) != "SECRET" {
		t.Errorf("outside it is %q, %v", b, err)
	}
}
