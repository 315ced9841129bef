package e2e

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// running is an exec under way, driven through its standard input.
type running struct {
	ctl       pidfd
	cmd       *exec.Cmd
	stdin     io.WriteCloser
	out, errs *syncBuffer
	done      chan struct{}
}

// launch starts an exec and returns before it has done anything.
func (n *Node) launch(t testing.TB, c Ctl) *running {
	t.Helper()
	r := &running{cmd: n.Command(t, c), out: &syncBuffer{}, errs: &syncBuffer{}, done: make(chan struct{})}
	r.cmd.Stdout, r.cmd.Stderr = r.out, r.errs
	r.cmd.WaitDelay = hang // a stopped jail keeps the other ends of the pipes open
	var err error
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.ctl = mustHold(t, r.cmd.Process.Pid)
	go func() {
		r.cmd.Wait()
		close(r.done)
	}()
	t.Cleanup(func() {
		r.stdin.Close()
		r.ctl.signal(t, unix.SIGKILL)
		<-r.done
	})
	return r
}

// says waits until the command has written text.
func (r *running) says(t testing.TB, text string) {
	t.Helper()
	if !r.out.waitFor(text, r.done) {
		t.Fatalf("the command did not say %q\nstdout: %s\nstderr: %s", text, r.out.String(), r.errs.String())
	}
}

// tell writes a line to the command.
func (r *running) tell(t testing.TB, line string) {
	t.Helper()
	if _, err := fmt.Fprintln(r.stdin, line); err != nil {
		t.Fatal(err)
	}
}

// finish waits for omnijailctl to end.
func (r *running) finish(t testing.TB) Output {
	t.Helper()
	select {
	case <-r.done:
	case <-time.After(hang):
		t.Fatalf("omnijailctl hangs; its stderr:\n%s", r.errs.String())
	}
	o := Output{Stdout: r.out.String(), Stderr: r.errs.String(), Exit: r.cmd.ProcessState.ExitCode()}
	if ws := r.cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		o.Exit = 128 + int(ws.Signal())
	}
	return o
}

// WantReason fails unless omnijail itself ended the command and said why.
func (o Output) WantReason(t testing.TB, reasons ...string) {
	t.Helper()
	o.Want(t, 125)
	for _, r := range reasons {
		if strings.Contains(o.Stderr, r) {
			return
		}
	}
	t.Errorf("no reason of %q in %q", reasons, o.Stderr)
}
