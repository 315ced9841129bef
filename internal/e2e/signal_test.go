package e2e

import (
	"bufio"
	"io"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// talk starts a command whose standard output is read line by line.
type talk struct {
	*exec.Cmd
	t     *testing.T
	lines *bufio.Reader
	stdin io.WriteCloser
}

func (n *Node) talk(t *testing.T, argv ...string) *talk {
	t.Helper()
	c := &talk{t: t, Cmd: n.Command(t, Ctl{UID: Alice, Args: append([]string{"exec", "--"}, argv...)})}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if c.stdin, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewReader(out)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(hang, func() { c.Process.Kill() })
	t.Cleanup(func() { timer.Stop(); c.Process.Kill(); c.Wait() })
	return c
}

// expect reads one line.
func (c *talk) expect(want string) {
	c.t.Helper()
	if got, err := c.lines.ReadString('\n'); got != want+"\n" {
		c.t.Fatalf("read %q, %v; want %q", got, err, want)
	}
}

// exit waits for the end and compares the exit code.
func (c *talk) exit(want int) {
	c.t.Helper()
	io.Copy(io.Discard, c.lines)
	c.Wait()
	if got := c.ProcessState.ExitCode(); got != want {
		c.t.Errorf("exit %d (%v), want %d", got, c.ProcessState, want)
	}
}

// TestSignalsReachTheCommand sends signals to omnijailctl, as a supervisor or a
// shell does.
func TestSignalsReachTheCommand(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	const wait = `echo ready; while :; do read -t 0.05 x <> <(:); done`
	for name, sig := range map[string]syscall.Signal{
		"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "INT": syscall.SIGINT,
		"HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT, "TERM": syscall.SIGTERM,
	} {
		t.Run(name, func(t *testing.T) {
			c := n.talk(t, "bash", "-c", "trap 'echo got "+name+"; exit 9' "+name+"; "+wait)
			c.expect("ready")
			c.Process.Signal(sig)
			c.expect("got " + name)
			c.exit(9)
		})
	}
	t.Run("without a handler", func(t *testing.T) {
		c := n.talk(t, "bash", "-c", "echo ready; exec sleep 1000")
		c.expect("ready")
		c.Process.Signal(syscall.SIGTERM)
		c.exit(143)
	})
	t.Run("a second SIGTERM kills", func(t *testing.T) {
		c := n.talk(t, "bash", "-c", "trap 'echo no' TERM; "+wait)
		c.expect("ready")
		c.Process.Signal(syscall.SIGTERM)
		c.expect("no")
		c.Process.Signal(syscall.SIGTERM)
		c.exit(137)
	})
	t.Run("only the command gets it", func(t *testing.T) {
		c := n.talk(t, "bash", "-c", `sleep 1000 & trap 'kill -0 $! && echo child lives; exit 0' USR1; `+wait)
		c.expect("ready")
		c.Process.Signal(syscall.SIGUSR1)
		c.expect("child lives")
		c.exit(0)
	})
}
