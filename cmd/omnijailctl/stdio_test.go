package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/api/apitest"
)

// What the jail may hold: pipes, sockets and /dev/null as they are, a regular
// file or a terminal never.
func TestS02_StdioThatGoesOver(t *testing.T) {
	p := newPerson(t)
	type kinds struct {
		mode [3]os.FileMode
		null [3]bool
	}
	seen := make(chan kinds, 1)
	p.daemon(t, func(e *apitest.Exec, _ api.ExecRequest) {
		var got kinds
		for i, f := range e.Files {
			fi, err := f.Stat()
			if err != nil {
				t.Error(err)
				continue
			}
			got.mode[i] = fi.Mode().Type()
			got.null[i] = fi.Sys().(*syscall.Stat_t).Rdev == 0x103
		}
		seen <- got
	})
	const pipe, char = os.ModeNamedPipe, os.ModeDevice | os.ModeCharDevice
	for redirect, want := range map[string][3]os.FileMode{
		"<in >out 2>err":              {pipe, pipe, pipe},
		"<in >>out 2>&1":              {pipe, pipe, pipe},
		"</dev/null >/dev/null 2>err": {char, char, pipe},
		"<&- >&- 2>&-":                {char, char, char}, // the Go runtime opens /dev/null there
	} {
		if _, stderr, code := output(t, p.shell("echo >in; omnijailctl exec -- true "+redirect)); code != 0 {
			t.Fatalf("%s: exit %d, %s", redirect, code, stderr)
		}
		got := <-seen
		if got.mode != want {
			t.Errorf("%s: kinds %v, want %v", redirect, got.mode, want)
		}
		for i := range want {
			if got.null[i] != (want[i] == char) {
				t.Errorf("%s: descriptor %d is another device than /dev/null", redirect, i)
			}
		}
	}

	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer tty.Close()
	cmd := p.shell("omnijailctl exec --no-tty -- true")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if got := <-seen; got.mode != [3]os.FileMode{pipe, pipe, pipe} {
		t.Errorf("a terminal: kinds %v", got.mode)
	}
}

func TestFilesAreCopiedWhole(t *testing.T) {
	p := newPerson(t)
	in := bytes.Repeat([]byte("0123456789abcdef\n"), 20_000) // more than a pipe holds
	p.daemon(t, func(e *apitest.Exec, _ api.ExecRequest) {
		if _, err := io.Copy(e.Files[1], e.Files[0]); err != nil {
			t.Error(err)
		}
		e.Files[2].WriteString("done\n")
	})
	if err := os.WriteFile(p.work+"/project/in", in, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := output(t, p.shell("omnijailctl exec -- cat <in >out 2>err")); code != 0 {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	for name, want := range map[string][]byte{"out": in, "err": []byte("done\n")} {
		if got, err := os.ReadFile(p.work + "/project/" + name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, want %d; %v", name, len(got), len(want), err)
		}
	}
}

func TestOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	p := newPerson(t)
	p.daemon(t, func(e *apitest.Exec, _ api.ExecRequest) {
		io.Copy(e.Files[1], bytes.NewReader(make([]byte, 1<<20)))
	})
	_, stderr, code := output(t, p.shell(`trap "" XFSZ; ulimit -f 8; omnijailctl exec -- cat /dev/zero >out`))
	if code != 125 || stderr != "omnijailctl: the command's output is incomplete: write /dev/stdout: file too large\n" {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

func TestSignalsArePassedOn(t *testing.T) {
	p := newPerson(t)
	ready := make(chan struct{})
	p.daemon(t, func(e *apitest.Exec, _ api.ExecRequest) {
		e.Send(api.Event{Started: &api.Started{Jail: "j1"}})
		<-ready
		for _, want := range signals {
			var c api.Control
			if err := e.Control(&c); err != nil || c.Signal != int(want) {
				t.Errorf("%+v, %v; want %v", c, err, want)
			}
			e.Send(api.Event{Note: &api.Note{Text: "next"}})
		}
		e.Send(api.Event{Exit: &api.Exit{Code: 143, Signal: 15}})
	})
	cmd := exec.Command(p.work+"/bin/omnijailctl", "exec", "-v", "--", "true")
	cmd.Dir, cmd.Env = p.work+"/project", p.env
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := func() {
		t.Helper()
		if _, err := stderr.Read(make([]byte, 256)); err != nil {
			t.Fatal(err)
		}
	}
	said() // it runs
	close(ready)
	for _, sig := range signals {
		cmd.Process.Signal(sig)
		said() // the signal has arrived
	}
	if cmd.Wait(); cmd.ProcessState.ExitCode() != 143 {
		t.Errorf("%v", cmd.ProcessState)
	}
}

var signals = []syscall.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTERM}
