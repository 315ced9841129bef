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

// waiter is a command that says what signals it got: SIG,SIG,… and what it does
// then, exit (with 9), stay, or exit with word of a child process of its own.
const waiter = `import os, signal, subprocess, sys
sigs = {signal.Signals["SIG" + n] for n in sys.argv[1].split(",")}
signal.signal(signal.SIGINT, signal.SIG_DFL)
child = subprocess.Popen(["sleep", "1000"]) if sys.argv[2] == "child" else None
signal.pthread_sigmask(signal.SIG_BLOCK, sigs)
print("ready", flush=True)
while True:
    s = signal.sigwait(sigs)
    print("got", s.name, flush=True)
    if s == signal.SIGWINCH: print("%d rows, %d columns" % os.get_terminal_size()[::-1])
    if child: print("child lives" if child.poll() is None else "child is gone")
    if sys.argv[2] != "stay": sys.exit(9)
`

// TestSignalsReachTheCommand sends signals to omnijailctl, as a supervisor or a
// shell does.
func TestSignalsReachTheCommand(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	for name, sig := range map[string]syscall.Signal{
		"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "INT": syscall.SIGINT,
		"HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT, "TERM": syscall.SIGTERM,
	} {
		t.Run(name, func(t *testing.T) {
			c := n.talk(t, python(waiter, name, "exit")...)
			c.expect("ready")
			c.Process.Signal(sig)
			c.expect("got SIG" + name)
			c.exit(9)
		})
	}
	t.Run("without a handler", func(t *testing.T) {
		c := n.talk(t, python(waiter, "USR1", "exit")...)
		c.expect("ready")
		c.Process.Signal(syscall.SIGTERM)
		c.exit(143)
	})
	t.Run("a second SIGTERM kills", func(t *testing.T) {
		c := n.talk(t, python(waiter, "TERM", "stay")...)
		c.expect("ready")
		c.Process.Signal(syscall.SIGTERM)
		c.expect("got SIGTERM")
		c.Process.Signal(syscall.SIGTERM)
		c.exit(137)
	})
	t.Run("only the command gets it", func(t *testing.T) {
		c := n.talk(t, python(waiter, "USR1", "child")...)
		c.expect("ready")
		c.Process.Signal(syscall.SIGUSR1)
		c.expect("got SIGUSR1")
		c.expect("child lives")
		c.exit(9)
	})
}
