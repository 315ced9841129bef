package e2e

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/api"
)

// change is another policy on its way into a session, about to be interrupted.
type change struct {
	n       *Node
	id      string
	apply   *running
	daemon  pidfd
	egress  pidfd
	socket  int // the egress process's to the daemon
	stopped []pidfd
}

const (
	changeFrom = `egress_rules: ["GET example.test/old/**", "GET other.test/both"]`
	changeTo   = `egress_rules: ["GET example.test/new/**", "GET other.test/both"]`
)

// begin makes a session and asks for another policy, which its egress process is
// told of and does not read.
func (c *change) begin(t *testing.T) {
	t.Helper()
	c.n.policies(t, map[string]string{"from": changeFrom, "to": changeTo})
	c.id = c.n.create(t, "--policy", "from")
	if got := c.network(t); got != "404 403" {
		t.Fatalf("before anything: %s", got)
	}
	c.daemon, c.egress = mustHold(t, c.n.PID()), mustHold(t, egressOf(t, c.n)[0])
	c.socket = unixSocketOf(t, c.egress)
	t.Cleanup(func() { unix.Close(c.socket) })
	c.stop(t, c.egress)
	c.apply = c.n.launch(t, Ctl{UID: Alice, Args: []string{"policy", "apply", "--jail", c.id, "to", "--yes"}})
	waitFD(t, c.socket, unix.POLLIN, "the egress process is told of no policy")
}

// answered lets the egress process read it, and its answer wait.
func (c *change) answered(t *testing.T) {
	t.Helper()
	c.begin(t)
	c.stop(t, c.daemon)
	c.egress.signal(t, unix.SIGCONT)
	until(t, "it was read", func() bool {
		fds := []unix.PollFd{{Fd: int32(c.socket), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		return err == nil && n == 0
	})
}

func (c *change) stop(t *testing.T, p pidfd) {
	t.Helper()
	p.signal(t, unix.SIGSTOP)
	t.Cleanup(func() { p.signal(t, unix.SIGCONT) })
	until(t, "every thread has stopped", func() bool { return stopped(p.pid) })
	c.stopped = append(c.stopped, p)
}

func (c *change) resume(t *testing.T) {
	t.Helper()
	for _, p := range c.stopped {
		p.signal(t, unix.SIGCONT)
	}
}

// network is what the two policies differ in, as a command sees it: 404 of the
// upstream where it is let through.
func (c *change) network(t *testing.T) string {
	t.Helper()
	o := c.n.in(t, c.id, `for p in old new; do curl -s -o /dev/null -w '%{http_code} ' https://example.test/$p/x; done; true`).Want(t, 0)
	return strings.TrimSpace(o.Stdout)
}

// whole fails unless the daemon shows one of the two policies in all of its parts.
func (c *change) whole(t *testing.T) (policy string, j api.Jail) {
	t.Helper()
	j = c.n.inspect(t, c.id)
	want := map[string][]string{
		"from": {"GET example.test/old/**", "GET other.test/both"}, "to": {"GET example.test/new/**", "GET other.test/both"},
	}[j.Policy]
	if want == nil || !reflect.DeepEqual(j.Rules, want) {
		t.Errorf("in force: %q with %q", j.Policy, j.Rules)
	}
	return j.Policy, j
}

// A change of policy that is interrupted anywhere leaves the one policy or the other,
// or no network: never rules of both, and never those of one with the other's wall.
func TestKilledWhileAPolicyIsApplied(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{})
	for name, reach := range map[string]func(*change, *testing.T){"told": (*change).begin, "answered": (*change).answered} {
		t.Run("the client, "+name, func(t *testing.T) {
			c := &change{n: n}
			reach(c, t)
			c.apply.ctl.signal(t, unix.SIGKILL)
			c.apply.ctl.wait(t)
			c.resume(t)
			until(t, "the change is made", func() bool { return n.inspect(t, c.id).Policy == "to" })
			c.whole(t)
			if got := c.network(t); got != "403 404" {
				t.Errorf("the network is %s", got)
			}
		})
		t.Run("the egress process, "+name, func(t *testing.T) {
			c := &change{n: n}
			reach(c, t)
			c.egress.signal(t, unix.SIGKILL)
			c.egress.wait(t)
			c.resume(t)
			c.apply.finish(t)
			until(t, "the session is degraded", func() bool { return n.inspect(t, c.id).State == api.StateDegraded })
			c.whole(t)
			if got := c.network(t); got != "000 000" {
				t.Errorf("the network is %s", got)
			}
			n.Run(t, Ctl{UID: Alice, Args: []string{"policy", "apply", "--jail", c.id, "to", "--yes"}}).wantRefused(t, "no network")
		})
	}
	for name, reach := range map[string]func(*change, *testing.T){"told": (*change).begin, "answered": (*change).answered} {
		t.Run("the daemon, "+name, func(t *testing.T) {
			c := &change{n: n}
			reach(c, t)
			n.Kill(t)
			c.egress.signal(t, unix.SIGCONT)
			c.egress.wait(t) // its jails have no network without a daemon
			c.apply.finish(t).WantReason(t, "omnijaild")
			n.Start(t)
			if a := ask(t, n, Alice, "GET", "/v1/jails/"+c.id, ""); a.status != 404 {
				t.Errorf("the session: %v", a)
			}
			// What was recorded is the change that was asked for, once.
			o := n.Run(t, Ctl{UID: 0, Args: []string{"--json", "events", "--jail", c.id}}).Want(t, 0)
			if got := strings.Count(o.Stdout, `"kind":"policy"`); got != 1 {
				t.Errorf("%d records of a change:\n%s", got, o.Stdout)
			}
		})
	}
}

// On a terminal a change is shown first, and only a yes makes it.
func TestAPolicyIsAskedAboutOnATerminal(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	n.policies(t, map[string]string{"from": changeFrom, "to": changeTo})
	id := n.create(t, "--policy", "from")
	question := fmt.Sprintf("put this in force in jail %s? [y/N] ", id)
	for _, tt := range []struct {
		keys, policy string
		exit         int
	}{{"\r", "from", 1}, {"n\r", "from", 1}, {"yess\r", "from", 1}, {"\x04", "from", 1}, {"\x03", "from", 130}, {"y\r", "to", 0}} {
		s := n.screenOf(t, Ctl{UID: Alice, Env: []string{"TERM=xterm"}, Args: []string{"policy", "apply", "--jail", id, "to"}})
		s.expect(question)
		if shown := s.shown.String(); !strings.Contains(shown, "+ GET example.test/new/**\r\n- GET example.test/old/**\r\n") {
			t.Errorf("shown before the question: %q", shown)
		}
		s.press(tt.keys)
		<-s.exited
		code := s.cmd.ProcessState.ExitCode()
		if code == -1 { // ended by the signal itself
			code = 130
		}
		if got := n.inspect(t, id).Policy; code != tt.exit || got != tt.policy {
			t.Errorf("%q: exit %d, in force %q; want %d, %q", tt.keys, code, got, tt.exit, tt.policy)
		}
	}
}
