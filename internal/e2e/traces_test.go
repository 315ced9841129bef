package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// mountsBelow are the mounts of the node that lie below dir. A jail's mounts are
// made on the node's stage directory and on grants, never anywhere else; the
// node's other mounts change while other tests run.
func mountsBelow(t testing.TB, dir string) (out []string) {
	t.Helper()
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		if strings.Contains(line, dir) {
			out = append(out, line)
		}
	}
	return out
}

// tree is everything that can be seen of the files below dir from outside, but
// for access times.
func tree(t testing.TB, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		st := fi.Sys().(*syscall.Stat_t)
		out = append(out, fmt.Sprint(path, fi.Mode(), st.Ino, st.Nlink, st.Uid, st.Gid, fi.Size(), st.Mtim, st.Ctim, xattrs(t, path)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// xattrs are the extended attributes of a file, a link itself, with their values.
func xattrs(t testing.TB, path string) (out []string) {
	t.Helper()
	names := make([]byte, 64<<10) // the kernel's own bound
	n, err := unix.Llistxattr(path, names)
	if errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(names[:n]), "\x00"), "\x00") {
		value := make([]byte, 64<<10)
		if size, err := unix.Lgetxattr(path, name, value); err == nil {
			out = append(out, fmt.Sprintf("%s=%x", name, value[:size]))
		}
	}
	return out
}

// namedNetworks are the network namespaces that have a name on the node.
func namedNetworks(t testing.TB) (out []string) {
	t.Helper()
	entries, err := os.ReadDir("/run/netns")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// runDir are the names in the run directory.
func (n *Node) runDir(t testing.TB) (out []string) {
	t.Helper()
	err := filepath.WalkDir(n.Dir+"/run", func(path string, d fs.DirEntry, err error) error {
		out = append(out, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// groupsLeft are the cgroups of the node's daemon, in every hierarchy.
func (n *Node) groupsLeft(t testing.TB) (out []string) {
	t.Helper()
	for _, pattern := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
		found, err := filepath.Glob(pattern + instance(n.Dir+"/run"))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, found...)
	}
	return out
}

// processesLeft are the processes that a jail of this node started, found by
// their network namespaces, by their cgroup and by a word of their arguments.
func (n *Node) processesLeft(t testing.TB, word string, netns ...string) (out []string) {
	t.Helper()
	for _, pid := range allPIDs(t) {
		if dead(pid) {
			continue // a zombie of the node's own first process, which reaps when it likes
		}
		cgroups, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		net, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
		if strings.Contains(string(cgroups), instance(n.Dir+"/run")) ||
			(pid != os.Getpid() && strings.Contains(string(args), word)) || slices.Contains(netns, net) {
			out = append(out, fmt.Sprintf("%d %q %s", pid, args, net))
		}
	}
	return out
}

// cleanup runs omnijaild cleanup as a person would.
func (n *Node) cleanup(args ...string) (string, error) {
	cmd := exec.Command(filepath.Join(n.Bin, "omnijaild"), append([]string{"cleanup", "--config", n.confPath}, args...)...)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// same fails unless nothing has changed.
func same(t testing.TB, what string, before, after []string) {
	t.Helper()
	if !slices.Equal(before, after) {
		t.Errorf("%s changed\nbefore:\n%s\nafter:\n%s", what, strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
}

// none fails unless the list is empty.
func none(t testing.TB, what string, left []string) {
	t.Helper()
	if len(left) > 0 {
		t.Errorf("%s left:\n%s", what, strings.Join(left, "\n"))
	}
}
