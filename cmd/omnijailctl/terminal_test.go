package main

import (
	"bufio"
	"os"
	"os/exec"
	"reflect"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/api/apitest"
)

// The caller's terminal is raw while the command has its own, and as it was
// before, however the exec ends.
func TestTheTerminalIsGivenBack(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(*apitest.Exec)
		code int
	}{
		"the command exits": {func(e *apitest.Exec) { e.Send(api.Event{Exit: &api.Exit{Code: 3}}) }, 3},
		"the daemon dies":   {func(e *apitest.Exec) { e.Close() }, 125},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPerson(t)
			p.daemon(t, func(e *apitest.Exec, req api.ExecRequest) {
				if req.TTY == nil || *req.TTY != (api.Size{Rows: 30, Cols: 90}) {
					t.Errorf("asked for a terminal of %+v", req.TTY)
				}
				play(t, e)
				tt.end(e)
			})
			master, tty := openTerminal(t)
			before := state(t, tty)
			cmd := exec.Command(p.work+"/bin/omnijailctl", "exec", "--", "sh")
			cmd.Dir, cmd.Env = p.work+"/project", p.env
			cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			screen := bufio.NewReader(master)
			if _, err := screen.ReadString('>'); err != nil {
				t.Fatal(err)
			}
			if reflect.DeepEqual(state(t, tty), before) {
				t.Error("the terminal is not raw while the command runs")
			}
			if _, err := master.WriteString("x\n"); err != nil {
				t.Fatal(err)
			}
			if _, err := screen.ReadString('!'); err != nil {
				t.Fatal(err)
			}
			if err := pty.Setsize(master, &pty.Winsize{Rows: 10, Cols: 20}); err != nil {
				t.Fatal(err)
			}
			if cmd.Wait(); cmd.ProcessState.ExitCode() != tt.code {
				t.Errorf("%v, want exit %d", cmd.ProcessState, tt.code)
			}
			if !reflect.DeepEqual(state(t, tty), before) {
				t.Error("the terminal is not as it was")
			}
		})
	}
}

// play is a command that prompts, reads a line, and notices a resize.
func play(t *testing.T, e *apitest.Exec) {
	inner, slave, err := pty.Open()
	if err != nil {
		t.Error(err)
		return
	}
	defer slave.Close()
	if err := e.Send(api.Event{PTY: &api.Size{}}, inner); err != nil {
		t.Error(err)
	}
	inner.Close()
	slave.WriteString("prompt>")
	line := make([]byte, 8)
	if n, err := slave.Read(line); err != nil || string(line[:n]) != "x\n" {
		t.Errorf("typed %q, %v", line[:n], err)
	}
	slave.WriteString("read!")
	var c api.Control
	if err := e.Control(&c); err != nil || c.Resize == nil || *c.Resize != (api.Size{Rows: 10, Cols: 20}) {
		t.Errorf("control %+v, %v", c, err)
	}
}

func openTerminal(t *testing.T) (master, tty *os.File) {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close(); tty.Close() })
	if err := pty.Setsize(master, &pty.Winsize{Rows: 30, Cols: 90}); err != nil {
		t.Fatal(err)
	}
	return master, tty
}

func state(t *testing.T, tty *os.File) *term.State {
	t.Helper()
	s, err := term.GetState(int(tty.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
