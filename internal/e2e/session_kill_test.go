package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/api"
)

// busy is a session with everything that one can have: a detached command with its
// pump, published ports with their gate, and a command with a client.
func (n *Node) busy(t *testing.T, word string) (id string, running *running) {
	t.Helper()
	id = n.create(t, "--allow", "GET example.test/**", "--publish", fmt.Sprint(freePort(t)), "--", "sleep", word)
	running = n.launch(t, Ctl{UID: Alice, Args: []string{"exec", "--jail", id, "--", "sh", "-c", "echo up; setsid sleep " + word}})
	running.says(t, "up")
	return id, running
}

// sleepers are the processes that sleep for word seconds.
func sleepers(t *testing.T, word string) (out []string) {
	t.Helper()
	for _, pid := range allPIDs(t) {
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if string(args) == "sleep\x00"+word+"\x00" && !dead(pid) {
			out = append(out, fmt.Sprint(pid))
		}
	}
	return out
}

// A daemon that is killed takes its sessions along at once, and the cleanup or the
// next start removes what has no life of its own.
func TestAKilledDaemonLeavesNothingOfItsSessions(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{})
	for i, after := range []string{"cleanup", "the next start"} {
		word := fmt.Sprint(86400 + i)
		id, running := n.busy(t, word)
		n.Kill(t)
		running.finish(t).WantReason(t, "omnijaild ended before the command did")
		until(t, "the commands are gone", func() bool { return len(sleepers(t, word)) == 0 })
		if after == "cleanup" {
			if out, err := n.cleanup(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			none(t, "cgroups", n.groupsLeft(t))
		}
		n.Start(t)
		none(t, "processes", sleepers(t, word))
		if o := n.Run(t, Ctl{UID: Alice, Args: []string{"ls"}}).Want(t, 0); strings.Contains(o.Stdout, id) {
			t.Errorf("the next daemon has the jail: %s", o.Stdout)
		}
		n.in(t, n.create(t), "true").Want(t, 0)
	}
}

// part finds a process of the daemon's: by the cgroup it is in.
func (n *Node) part(t *testing.T, group string) pidfd {
	t.Helper()
	for _, pid := range descendants(t, n.PID()) {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
		if strings.Contains(string(b), group) {
			if p, ok := hold(t, pid); ok {
				return p
			}
		}
	}
	t.Fatalf("no process in %s", group)
	return pidfd{}
}

// A session whose egress process dies has no network any more and says so; its files
// and commands are as before.
func TestS12_ASessionWhoseEgressDiedIsDegraded(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{})
	id := n.create(t, "--allow", "GET example.test/**")
	n.in(t, id, "echo kept >~/x; curl -sSf -o /dev/null https://example.test/").Want(t, 0)
	p := n.part(t, "/egress-")
	p.signal(t, unix.SIGKILL)
	p.wait(t)
	until(t, "the jail is degraded", func() bool { return n.inspect(t, id).State == api.StateDegraded })
	o := n.in(t, id, "cat ~/x; curl -sS -m 20 https://example.test/").Want(t, 6)
	if o.Stdout != "kept\n" || !strings.Contains(o.Stderr, "has no network any more") {
		t.Errorf("afterwards: %+v", o)
	}
	n.in(t, n.create(t, "--allow", "GET example.test/**"), "curl -sSf -o /dev/null https://example.test/").Want(t, 0)
}

// Each part of a session that dies leaves the rest of it, or the end of it, whole.
func TestAKilledPartLeavesTheSession(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	word := "86410"
	id, running := n.busy(t, word)
	for _, group := range []string{"/jail-" + id + "/exec-", "/jail-" + id + "/detached"} {
		n.part(t, group).signal(t, unix.SIGKILL)
	}
	running.finish(t).WantReason(t, "before its command's exit was reported")
	until(t, "the detached command has ended", func() bool {
		d := n.inspect(t, id).Detached
		return d != nil && !d.Running
	})
	n.in(t, id, "true").Want(t, 0)
	none(t, "processes", sleepers(t, word))
	n.Run(t, Ctl{UID: Alice, Args: []string{"rm", id}}).Want(t, 0)
	until(t, "the jail is gone", func() bool { return ask(t, n, Alice, "GET", "/v1/jails/"+id, "").status == 404 })
}
