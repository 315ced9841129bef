package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// detach starts a command of alice's that nobody waits for, and returns its name.
func (n *Node) detach(t *testing.T, id, script string, flags ...string) string {
	t.Helper()
	args := append([]string{"exec", "--jail", id, "--detach"}, flags...)
	return strings.TrimSpace(n.Run(t, Ctl{UID: Alice, Args: append(args, "--", "sh", "-c", script)}).Want(t, 0).Stdout)
}

// A command that was started with --detach lives on without a client, and each has
// an output of its own.
func TestADetachedCommandOutlivesItsClient(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	id := n.create(t)
	wait := "; until [ -e ~/go ]; do sleep 0.05; done; "
	one := n.detach(t, id, "echo one"+wait+"echo last of one; exit 3")
	two := n.detach(t, id, "echo two >&2; sleep 1000")
	follower := n.launch(t, Ctl{UID: Alice, Args: []string{"logs", "--follow", id, one}})
	follower.says(t, "one\n")
	if j := n.inspect(t, id); len(j.Background) != 2 || j.Background[0].Name != one || !j.Background[0].Running || j.Detached != nil || j.Commands != 2 {
		t.Errorf("inspect says %+v", j)
	}
	n.in(t, id, "touch ~/go").Want(t, 0)
	if o := follower.finish(t).Want(t, 0); o.Stdout != "one\nlast of one\n" {
		t.Errorf("the log of one is %q", o.Stdout)
	}
	until(t, "it has ended", func() bool { return !n.inspect(t, id).Background[0].Running })
	if e := n.inspect(t, id).Background[0].Exit; e == nil || e.Code != 3 {
		t.Errorf("it ended with %+v", e)
	}
	if o := n.Run(t, Ctl{UID: Alice, Args: []string{"logs", id, two}}).Want(t, 0); o.Stdout != "two\n" {
		t.Errorf("the log of two is %q", o.Stdout)
	}
	n.Run(t, Ctl{UID: Alice, Args: []string{"kill", id}}).Want(t, 0)
	until(t, "the other has been killed", func() bool { return !n.inspect(t, id).Background[1].Running })

	screen := n.screenOf(t, Ctl{UID: Alice, Env: []string{"TERM=xterm"}, Args: []string{"attach", id, n.detach(t, id, "read x; echo got $x; exit 4", "--tty")}})
	screen.press("it\r")
	screen.expect("got it")
	screen.exit(4)
}

func TestWhatADetachedCommandIsRefused(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	id := n.create(t)
	for _, c := range []struct {
		uid  uint32
		args []string
		want string
	}{
		{Alice, []string{"exec", "--jail", id, "--detach", "--", "/no/such"}, "/no/such does not exist"},
		{Alice, []string{"logs", id, "exec-99"}, "no detached command of that name"},
		{Alice, []string{"attach", id, n.detach(t, id, "true")}, "has no terminal"},
		{Bob, []string{"exec", "--jail", id, "--detach", "--", "true"}, "there is no jail"},
	} {
		if o := n.Run(t, Ctl{UID: c.uid, Args: c.args}).Want(t, 125); !strings.Contains(o.Stderr, c.want) {
			t.Errorf("%q: %s", c.args, o.Stderr)
		}
	}
	n.Run(t, Ctl{UID: Alice, Args: []string{"exec", "--detach", "--", "true"}}).Want(t, 64)
	// Each is kept by a process of its own, so there are not too many: those that
	// have ended make room, the others do not.
	for range 20 {
		n.detach(t, id, "true")
	}
	until(t, "all have ended", func() bool { return n.inspect(t, id).Commands == 0 })
	for range 16 {
		n.detach(t, id, "sleep 1000")
	}
	o := n.Run(t, Ctl{UID: Alice, Args: []string{"exec", "--jail", id, "--detach", "--", "true"}}).Want(t, 125)
	if !strings.Contains(o.Stderr, "runs 16 detached commands") {
		t.Errorf("one more: %s", o.Stderr)
	}
}

// What keeps the output of commands that are forgotten ends with them, and not with
// the session.
func TestForgottenCommandsLeaveNoKeeper(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	id := n.create(t)
	start := func() {
		n.Run(t, Ctl{UID: Alice, Args: []string{"exec", "--detach", "--jail", id, "--", "true"}}).Want(t, 0)
	}
	groups := func() int {
		all, err := filepath.Glob(n.groups(t) + "/scout-*")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	for range 17 {
		start()
	}
	before := groups()
	for range 8 {
		start()
	}
	until(t, "no more groups than before", func() bool { return groups() <= before+readyScouts }) // so many may wait to be asked
}
