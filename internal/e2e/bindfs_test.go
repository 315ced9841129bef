package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// bindfs shows files of alice's under another name through a FUSE file system of
// hers, as anybody mounts one: without allow_root, so that root may not even look
// at it.
func bindfs(t *testing.T, n *Node, files map[string]string) (source, mounted string, server pidfd) {
	t.Helper()
	source = n.Workspace(t, Alice, files)
	shared := n.Workspace(t, Alice, map[string]string{"m/.place": ""})
	mounted = filepath.Join(shared, "m")
	os.Remove(filepath.Join(mounted, ".place"))
	// What alice mounts in namespaces of her own is to be the node's too.
	if err := unix.Mount(shared, shared, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(shared, unix.MNT_DETACH) })
	if err := unix.Mount("", shared, "", unix.MS_SHARED, ""); err != nil {
		t.Fatal(err)
	}
	// Where no udev runs, /dev/fuse is root's alone.
	device := filepath.Join(n.Dir, "fuse")
	if err := unix.Mknod(device, unix.S_IFCHR|0o666, int(unix.Mkdev(10, 229))); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(device, 0o666); err != nil {
		t.Fatal(err)
	}
	// fusermount wants a name, and the uids of this suite have none.
	database := n.write(t, "passwd", "alice:x:2001:2001::/:/bin/sh\n")
	cmd := exec.Command("unshare", "--mount", "--propagation", "unchanged", "sh", "-c",
		`mount --bind "$0" /dev/fuse && mount --bind "$1" /etc/passwd &&
		exec setpriv --reuid 2001 --regid 2001 --clear-groups bindfs -f --no-allow-other "$2" "$3"`, device, database, source, mounted)
	log := &syncBuffer{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	server = mustHold(t, cmd.Process.Pid)
	t.Cleanup(func() {
		server.signal(t, unix.SIGKILL)
		cmd.Wait()
		unix.Unmount(mounted, unix.MNT_DETACH)
	})
	until(t, "bindfs has mounted", func() bool {
		if dead(server.pid) {
			t.Fatalf("bindfs ended: %s", log.String())
		}
		return strings.Contains(strings.Join(mountsBelow(t, mounted), ""), "fuse")
	})
	return source, mounted, server
}

// TestS17_BindfsWithoutAllowRoot: what root may not enter is granted like any
// other directory, because nobody but its owner ever enters it.
func TestS17_BindfsWithoutAllowRoot(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	source, dir, _ := bindfs(t, n, map[string]string{
		"main.go": "package main\n", ".env": "SECRET=1\n", ".git/HEAD": "ref: refs/heads/main\n", ".git/objects/o": "", ".git/config": "[core]\n",
		"sub/file": "1\n",
	})
	if _, err := os.ReadDir(dir); err == nil {
		t.Fatal("root can enter it, so that nothing is shown here")
	}
	script := `cat main.go .env sub/file; echo new > made; mkdir d && mv made d/; echo x >> .git/config; touch .env; rm -r sub; ls -A`
	o := n.Run(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--write", ".", "--", "sh", "-c", script + " 2>/dev/null"}}).Want(t, 0)
	wantLines(t, o.Stdout, "package main", "1", ".env", ".git", "d", "main.go")
	for name, want := range map[string]string{"d/made": "new\n", ".git/config": "[core]\n", ".env": "SECRET=1\n"} {
		if b, err := os.ReadFile(filepath.Join(source, name)); err != nil || string(b) != want {
			t.Errorf("%s holds %q, %v; want %q", name, b, err, want)
		}
	}
	t.Run("a file of it", func(t *testing.T) {
		o := n.Exec(t, "--read", dir+"/main.go", "--", "sh", "-c", "cat "+dir+"/main.go; ls "+dir).Want(t, 0)
		wantLines(t, o.Stdout, "package main", "main.go")
	})
	t.Run("of somebody else", func(t *testing.T) {
		n.Run(t, Ctl{UID: Bob, Args: []string{"exec", "--read", dir, "--", "true"}}).wantRefused(t, dir)
	})
}

// TestS17_BindfsThatHangsStopsItsOwnerOnly stops the file system at each point of
// an exec. Whoever else asks is served, and the daemon can be told to stop.
func TestS17_BindfsThatHangsStopsItsOwnerOnly(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true, Config: map[string]any{"ready_jails": 0}})
	_, dir, server := bindfs(t, n, map[string]string{"file": "1\n", "other": "2\n"})
	groups := n.watchGroups(t)
	served := func(t *testing.T) {
		t.Helper()
		n.Run(t, Ctl{UID: Bob, Args: []string{"exec", "--", "true"}}).Want(t, 0)
		n.Run(t, Ctl{UID: Alice, Args: []string{"exec", "--", "true"}}).Want(t, 0)
	}
	served(t)
	pause := func(t *testing.T) (resume func()) {
		server.signal(t, unix.SIGSTOP)
		until(t, "bindfs has stopped", func() bool { return stopped(server.pid) })
		return func() { server.signal(t, unix.SIGCONT) }
	}
	t.Run("while it is opened", func(t *testing.T) {
		resume := pause(t)
		defer resume()
		r := n.launch(t, Ctl{UID: Alice, Args: []string{"exec", "--write", dir, "--", "cat", dir + "/file"}})
		groups.made(t, "jail-")
		served(t)
		resume()
		r.finish(t).Want(t, 0)
	})
	t.Run("while a command uses it", func(t *testing.T) {
		r := n.launch(t, Ctl{UID: Alice, Args: []string{"exec", "--write", dir, "--", "sh", "-c", "echo up; read x; cat " + dir + "/other"}})
		r.says(t, "up")
		resume := pause(t)
		defer resume()
		r.tell(t, "go")
		r.ctl.signal(t, unix.SIGKILL) // its jail must end, and cannot yet
		served(t)
		resume()
		r.finish(t)
		n.gone(t)
	})
	t.Run("while the daemon stops", func(t *testing.T) {
		r := n.launch(t, Ctl{UID: Alice, Args: []string{"exec", "--write", dir, "--", "sh", "-c", "echo up; sleep 1000"}})
		r.says(t, "up")
		resume := pause(t)
		defer resume()
		n.Stop(t)
		r.finish(t).WantReason(t, "omnijaild is stopping")
	})
}

// gone waits until no jail of the node's has a cgroup any more.
func (n *Node) gone(t testing.TB) {
	t.Helper()
	until(t, "every jail is gone", func() bool {
		found, _ := filepath.Glob(n.groups(t) + "/jail-*")
		return len(found) == 0
	})
}
