package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The terminal of a session outlives every client of it: what happened while nobody
// looked is shown to the next one.
func TestDetachAndAttachAgain(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	id := n.create(t, "--tty", "--env", "PS1=$ ", "--", "sh", "-i")
	attach := Ctl{UID: Alice, Env: []string{"TERM=xterm"}, Args: []string{"attach", id}}

	first := n.screenOf(t, attach)
	first.expect("$ ")
	first.press("stty size; echo a$((40+2))\r")
	first.expect("a42")
	if !strings.Contains(first.shown.String(), "30 100") {
		t.Errorf("the terminal has another size: %s", first.shown.String())
	}
	first.press("until [ -e ~/go ]; do sleep 0.05; done; echo un$((1+1))seen\r\x1d")
	first.exit(0)
	n.in(t, id, "touch ~/go").Want(t, 0)

	second := n.screenOf(t, attach)
	second.expect("un2seen")
	second.press("echo b$((40+2))\r")
	second.expect("b42")
	second.press("exit 5\r")
	second.exit(5)

	o := n.Run(t, Ctl{UID: Alice, Args: []string{"logs", id}}).Want(t, 0)
	if !strings.Contains(o.Stdout, "a42") || !strings.Contains(o.Stdout, "b42") {
		t.Errorf("the log lacks something: %q", o.Stdout)
	}
	if d := n.inspect(t, id).Detached; d == nil || d.Running || d.Exit == nil || d.Exit.Code != 5 || !d.TTY {
		t.Errorf("inspect says %+v", d)
	}
}

// The output of a command without a terminal is kept, as far as the ring goes, and
// followed to the command's end.
func TestLogsOfADetachedCommand(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	id := n.create(t, "--", "sh", "-c", "echo out; echo err >&2; until [ -e ~/go ]; do sleep 0.05; done; echo more; seq 100000; echo last; exit 3")
	follower := n.launch(t, Ctl{UID: Alice, Args: []string{"logs", "--follow", id}})
	follower.says(t, "out\nerr\n")
	n.in(t, id, "touch ~/go").Want(t, 0)
	if o := follower.finish(t).Want(t, 0); !strings.HasSuffix(o.Stdout, "100000\nlast\n") {
		t.Errorf("the follower ends with %q", o.Stdout[max(0, len(o.Stdout)-40):])
	}
	o := n.Run(t, Ctl{UID: Alice, Args: []string{"logs", id}}).Want(t, 0)
	if len(o.Stdout) != 256<<10 || !strings.HasSuffix(o.Stdout, "100000\nlast\n") {
		t.Errorf("the log has %d bytes, ending in %q", len(o.Stdout), o.Stdout[max(0, len(o.Stdout)-40):])
	}
	if o := n.Run(t, Ctl{UID: Alice, Args: []string{"attach", id}}).Want(t, 125); !strings.Contains(o.Stderr, "has no terminal") {
		t.Errorf("attach says %s", o.Stderr)
	}
	plain := n.create(t)
	if o := n.Run(t, Ctl{UID: Alice, Args: []string{"logs", plain}}).Want(t, 125); !strings.Contains(o.Stderr, "was not created with a command") {
		t.Errorf("logs says %s", o.Stderr)
	}
	for _, verb := range []string{"logs", "attach"} {
		a := n.Run(t, Ctl{UID: Bob, Args: []string{verb, id}})
		b := n.Run(t, Ctl{UID: Bob, Args: []string{verb, "j0123456789abcdef"}})
		if a.Exit == 0 || strings.ReplaceAll(a.Stderr, id, "j0123456789abcdef") != b.Stderr {
			t.Errorf("bob's %s: %+v, %+v", verb, a, b)
		}
	}
}

// Who holds what a detached command writes is no root process, and the daemon holds
// no end of the stream to a client.
func TestS10_RootDoesNotSeeADetachedCommandsBytes(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	id := n.create(t, "--", "sh", "-c", "echo up; sleep 1000")
	follower := n.launch(t, Ctl{UID: Alice, Args: []string{"logs", "--follow", id}})
	follower.says(t, "up")
	var pipe string
	until(t, "the command writes into a pipe", func() bool { // it said so before it became sleep
		for _, pid := range descendants(t, n.PID()) {
			if comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); strings.TrimSpace(string(comm)) == "sleep" {
				pipe, _ = os.Readlink(fmt.Sprintf("/proc/%d/fd/1", pid))
			}
		}
		return strings.HasPrefix(pipe, "pipe:")
	})
	holders := 0
	for _, pid := range append(descendants(t, n.PID()), n.PID()) {
		for _, d := range descriptors(t, pid) {
			if d != pipe {
				continue
			}
			holders++
			if pid == n.PID() {
				t.Error("the daemon holds the command's output")
			}
		}
	}
	if holders < 2 {
		t.Errorf("only %d processes hold it", holders)
	}
}
