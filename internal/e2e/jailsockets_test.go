package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// While a jail runs, root has no socket of its network: what a jail sends can
// only be read by the egress process, which holds them all.
func TestS10_RootHoldsNoSocketOfAJail(t *testing.T) {
	n := NewNode(t, Options{})
	cmd := n.Command(t, Ctl{UID: Alice, Dir: n.Project(t, Alice), Args: []string{"exec", "--allow", "GET example.test/**", "--", "sleep", "600"}})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	jailed := 0
	until(t, "the command runs", func() bool {
		for _, pid := range descendants(t, n.PID()) {
			comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			if string(comm) == "sleep\n" {
				jailed = pid
			}
		}
		return jailed != 0
	})
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
