package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// screen is a terminal with omnijailctl on it.
type screen struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	slave  *os.File
	shown  syncBuffer
	exited chan struct{}
	before *unix.Termios
}

// screen starts omnijailctl exec on a terminal.
func (n *Node) screen(t *testing.T, argv ...string) *screen {
	t.Helper()
	return n.screenOf(t, Ctl{UID: Alice, Env: []string{"TERM=xterm"}, Args: append([]string{"exec"}, argv...)})
}

// screenOf starts omnijailctl on a terminal of 100 columns and 30 rows.
func (n *Node) screenOf(t *testing.T, c Ctl) *screen {
	t.Helper()
	s := &screen{t: t, exited: make(chan struct{})}
	var err error
	if s.master, s.slave, err = pty.Open(); err != nil {
		t.Fatal(err)
	}
	s.resize(30, 100)
	s.before = s.state()
	s.cmd = n.Command(t, c)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = s.slave, s.slave, s.slave
	s.cmd.SysProcAttr.Setsid, s.cmd.SysProcAttr.Setctty = true, true
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		b := make([]byte, 4096)
		for {
			k, err := s.master.Read(b)
			if err != nil {
				return
			}
			s.shown.Write(b[:k])
		}
	}()
	go func() {
		s.cmd.Wait()
		close(s.exited)
	}()
	t.Cleanup(func() {
		s.cmd.Process.Kill()
		<-s.exited
		s.slave.Close()
		s.master.Close()
	})
	return s
}

func (s *screen) resize(rows, cols uint16) {
	s.t.Helper()
	if err := pty.Setsize(s.master, &pty.Winsize{Rows: rows, Cols: cols}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *screen) state() *unix.Termios {
	s.t.Helper()
	st, err := unix.IoctlGetTermios(int(s.slave.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	return st
}

func (s *screen) press(keys string) {
	s.t.Helper()
	if _, err := s.master.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// expect waits until text is shown.
func (s *screen) expect(text string) {
	s.t.Helper()
	if !s.shown.waitFor(text, nil) {
		s.t.Fatalf("%q is not shown:\n%s", text, s.shown.String())
	}
}

// exit waits for the end, and for the terminal to be as it was.
func (s *screen) exit(code int) {
	s.t.Helper()
	<-s.exited
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.t.Errorf("exit %d, want %d; shown:\n%s", got, code, s.shown.String())
	}
	if after := s.state(); !reflect.DeepEqual(after, s.before) {
		s.t.Errorf("the terminal is %+v, was %+v", after, s.before)
	}
}

func TestATerminalOfTheJailsOwn(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	job := filepath.Join(n.Project(t, Alice), "job")
	if err := os.WriteFile(job, []byte("#!/usr/bin/python3\n"+waiter), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Run("all three are one terminal of the jail's", func(t *testing.T) {
		s := n.screen(t, "--", "bash", "-c", `tty; for i in 0 1 2; do [ -t $i ] || echo no $i; done; : < /dev/tty && echo controlling; stty size; echo "über $TERM" >&2`)
		s.expect("über xterm")
		s.exit(0)
		if got, want := s.shown.String(), "/dev/pts/0\r\ncontrolling\r\n30 100\r\nüber xterm\r\n"; got != want {
			t.Errorf("shown %q, want %q", got, want)
		}
	})
	t.Run("Ctrl-C", func(t *testing.T) {
		s := n.screen(t, "--", "./job", "INT", "exit")
		s.expect("ready")
		if reflect.DeepEqual(s.state(), s.before) {
			t.Error("the caller's terminal is not raw")
		}
		s.press("\x03")
		s.expect("got SIGINT")
		s.exit(9)
	})
	t.Run("Ctrl-C without a handler", func(t *testing.T) {
		s := n.screen(t, "--", "bash", "-c", "echo ready; exec sleep 1000")
		s.expect("ready")
		s.press("\x03")
		s.exit(130)
	})
	t.Run("Ctrl-Z on a lone command", func(t *testing.T) {
		s := n.screen(t, "--", "./job", "CONT,INT", "exit")
		s.expect("ready")
		s.press("\x1a")
		s.expect("Ctrl-Z stops nothing here")
		s.expect("omnijailctl exec -- bash\r\n")
		s.press("\x1a\x03")
		s.expect("got SIGINT")
		s.exit(9)
		if strings.Count(s.shown.String(), "Ctrl-Z") != 1 {
			t.Errorf("said again:\n%s", s.shown.String())
		}
	})
	t.Run("resize", func(t *testing.T) {
		s := n.screen(t, "--", "./job", "WINCH", "exit")
		s.expect("ready")
		s.resize(41, 122)
		s.expect("41 rows, 122 columns")
		s.exit(9)
	})
	t.Run("job control of a shell", func(t *testing.T) {
		s := n.screen(t, "--", "bash", "--norc", "-i")
		s.press("./job CONT stay\r")
		s.expect("ready")
		s.press("\x1a")
		s.expect("Stopped")
		s.press("fg\r")
		s.expect("got SIGCONT")
		s.press("\x03")
		s.press("echo status=$?\r")
		s.expect("status=130")
		s.press("echo typed $((40+2)); exit 4\r")
		s.expect("typed 42")
		s.exit(4)
		if text := s.shown.String(); containsAny(text, "no job control", "cannot set terminal process group", "Ctrl-Z") {
			t.Errorf("shown:\n%s", text)
		}
	})
	t.Run("end of input", func(t *testing.T) {
		s := n.screen(t, "--", "bash", "-c", "echo ready; cat; echo over")
		s.expect("ready")
		s.press("line\r\x04")
		s.expect("over")
		s.exit(0)
	})
	t.Run("--no-tty", func(t *testing.T) {
		s := n.screen(t, "--no-tty", "--", "bash", "-c", "for i in 0 1 2; do [ -t $i ] && echo terminal $i; done; echo none; echo err >&2")
		s.expect("err")
		s.exit(0)
		if containsAny(s.shown.String(), "terminal") {
			t.Errorf("shown:\n%s", s.shown.String())
		}
	})
	t.Run("SIGTERM to omnijailctl", func(t *testing.T) {
		s := n.screen(t, "--", "bash", "-c", "echo ready; exec sleep 1000")
		s.expect("ready")
		s.cmd.Process.Signal(syscall.SIGTERM)
		s.exit(143)
	})
	t.Run("death of the daemon", func(t *testing.T) {
		s := n.screen(t, "--", "bash", "-c", "echo ready; exec sleep 1000")
		s.expect("ready")
		n.Kill(t)
		s.expect("omnijaild ended before the command did")
		s.exit(125)
	})
}

func containsAny(text string, any ...string) bool {
	return slices.ContainsFunc(any, func(s string) bool { return strings.Contains(text, s) })
}

// --tty gives a terminal where there is none to stand in for: what is piped in
// is typed, and the end of it is the end of what is typed.
func TestTTYWithoutATerminal(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	o := n.Run(t, Ctl{
		UID: Alice, Dir: n.Project(t, Alice), Stdin: strings.NewReader("hello\n"),
		Args: []string{"exec", "--tty", "--", "sh", "-c", "test -t 0 && test -t 1 && test -t 2 && tty && cat"},
	}).Want(t, 0)
	if !strings.Contains(o.Stdout, "/dev/pts/0") || strings.Count(o.Stdout, "hello") != 2 { // echoed, then printed
		t.Errorf("stdout %q", o.Stdout)
	}
}
