package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// While a jail runs, root has no socket of its network: what a jail sends can
// only be read by the egress process, which holds them all.
func TestS10_RootHoldsNoSocketOfAJail(t *testing.T) {
	n := NewNode(t, Options{})
	jailed := n.sleeper(t)
	sockets := inodesOf(t, jailed)
	if len(sockets) < 4 {
		t.Fatalf("the jail's network has the sockets %v, not the four that carry it", sockets)
	}
	if held := holds(t, n.PID(), sockets); len(held) != 0 {
		t.Errorf("omnijaild holds the sockets %v of a jail", held)
	}
	egress := egressOf(t, n)
	if len(egress) != 1 {
		t.Fatalf("egress processes: %v", egress)
	}
	if held := holds(t, egress[0], sockets); len(held) != len(sockets) {
		t.Errorf("the egress process holds %v of %v", held, sockets)
	}
}

// sleeper runs a command that sleeps in a jail until the test ends, and returns
// its pid.
func (n *Node) sleeper(t *testing.T) (jailed int) {
	t.Helper()
	cmd := n.Command(t, Ctl{UID: Alice, Dir: n.Project(t, Alice), Args: []string{"exec", "--allow", "GET example.test/**", "--", "sleep", "600"}})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	until(t, "the command runs", func() bool {
		for _, pid := range descendants(t, n.PID()) {
			comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			if string(comm) == "sleep\n" {
				jailed = pid
			}
		}
		return jailed != 0
	})
	return jailed
}

// A process in a jail's cgroup may not command the daemon, root itself not: it
// is how a descriptor that leaked into a jail, or a way to the socket, would look.
func TestS13_AProcessOfAJailMayNotAsk(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", n.sleeper(t)))
	if err != nil {
		t.Fatal(err)
	}
	_, path, ok := strings.Cut(string(b), "\n0::")
	if !ok {
		path, ok = strings.CutPrefix(string(b), "0::")
	}
	path, _, _ = strings.Cut(path, "\n")
	procs := ""
	for _, mount := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		if f := filepath.Join(mount, path, "cgroup.procs"); procs == "" && ok {
			if _, err := os.Stat(f); err == nil {
				procs = f
			}
		}
	}
	if procs == "" {
		t.Skip("no cgroup v2 hierarchy is mounted")
	}
	ask := n.Command(t, Ctl{UID: 0, Args: []string{"ls"}})
	for _, c := range []struct{ name, move, want string }{
		{"outside", "true", "JAIL"},
		{"in the jail's cgroup", "echo $$ > " + procs, "a process in a jail may not command the daemon"},
	} {
		cmd := exec.Command("sh", "-c", c.move+` && exec "$@"`, "sh", ask.Path, "ls")
		cmd.Env = ask.Env
		out, _ := cmd.CombinedOutput()
		if !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %s", c.name, out)
		}
	}
}

// inodesOf are the sockets in the network namespace of a process.
func inodesOf(t *testing.T, pid int) (inodes []string) {
	t.Helper()
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n")[1:] {
			if f := strings.Fields(line); len(f) > 9 && f[9] != "0" {
				inodes = append(inodes, f[9])
			}
		}
	}
	return inodes
}

// holds returns which of the sockets a process has open.
func holds(t *testing.T, pid int, inodes []string) (held []string) {
	t.Helper()
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(links) == 0 {
		t.Fatalf("descriptors of %d: %v", pid, err)
	}
	open := map[string]bool{}
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil {
			open[to] = true
		}
	}
	for _, inode := range inodes {
		if open["socket:["+inode+"]"] {
			held = append(held, inode)
		}
	}
	return held
}
