package bwrap_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/spawn"
	"github.com/omnijail/omnijail/netns"
)

func TestStartsInItsNetworkNamespace(t *testing.T) {
	r := newRig(t)
	n, err := netns.New(netns.Steered)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	want, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	o := r.run(t, command{
		argv:   []string{"/bin/sh", "-c", "readlink /proc/self/ns/net; tail -n +3 /proc/net/dev | cut -d: -f1"},
		env:    []string{"PATH=/usr/bin:/bin"},
		layout: layout(), descs: noDescs, opts: spawn.Options{Netns: n.FD()},
	})
	if got := strings.Fields(o.stdout); len(got) != 2 || got[0] == want || got[1] != "lo" {
		t.Errorf("namespace and interfaces %q, %v", o.stdout, o.err)
	}
	if after, _ := os.Readlink("/proc/self/ns/net"); after != want {
		t.Errorf("this process is in %s, was in %s", after, want)
	}
}

// Every process of the jail, bwrap outside included, is born in the cgroup.
func TestStartsInItsCgroup(t *testing.T) {
	r := newRig(t)
	dir := cgroup(t)
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := r.start(t, command{argv: []string{"/bin/cat"}, layout: layout(), descs: noDescs, stdin: never{}, opts: spawn.Options{Cgroup: f}})
	if err != nil {
		t.Fatal(err)
	}
	pidfd := s.goOn(t)
	inside, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		t.Fatal(err)
	}
	if all := descendants(t, s.process.PID); len(bytes.Fields(inside)) != len(all) || len(all) < 3 {
		t.Errorf("in the cgroup %q, in the jail %v", inside, all)
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0o644); err != nil {
		t.Fatal(err)
	}
	gone(t, pidfd)
	s.end(t)
	emptied(t, dir)
}

// emptied waits until no process is left in the cgroup.
func emptied(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "cgroup.events"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLPRI}}
	for {
		var b [128]byte
		n, err := f.ReadAt(b[:], 0)
		if n == 0 {
			t.Fatal(err)
		}
		if bytes.Contains(b[:n], []byte("populated 0")) {
			return
		}
		if n, err := unix.Poll(fds, int(hang.Milliseconds())); n == 0 || err != nil && err != unix.EINTR {
			t.Fatalf("processes are left: %v", err)
		}
	}
}

// cgroup makes a cgroup v2 wherever that hierarchy is mounted.
func cgroup(t *testing.T) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^\S+ \S+ \S+ / (\S+) .* - cgroup2 `).FindSubmatch(mountinfo(t))
	if m == nil {
		t.Skip("no cgroup v2 hierarchy is mounted")
	}
	dir, err := os.MkdirTemp(string(m[1]), "bwrap-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(dir) })
	return dir
}
