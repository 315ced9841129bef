package bwrap_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/spawn"
)

// goOn lets the command start and returns a pidfd of it.
func (s *started) goOn(t *testing.T) *os.File {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	pidfd, err := s.channel.Ready(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pidfd.Close() })
	if err := s.letGo(); err != nil {
		t.Fatal(err)
	}
	if err := s.channel.Result(ctx); err != nil {
		t.Fatal(err)
	}
	return pidfd
}

// end kills the jail and waits for it.
func (s *started) end(t *testing.T) {
	t.Helper()
	for _, pid := range descendants(t, s.process.PID) {
		if n, err := strconv.Atoi(pid); err == nil {
			unix.Kill(n, unix.SIGKILL)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	if _, err := s.process.Wait(ctx); err != nil {
		t.Error(err)
	}
	s.channel.Close()
	s.process.Close()
	s.cmd.Status.Close()
}

func signal0(pidfd *os.File) error { return spawn.Signal(pidfd, 0) }

// descendants returns pid and every process below it.
func descendants(t *testing.T, pid int) []string {
	t.Helper()
	out := []string{strconv.Itoa(pid)}
	for i := 0; i < len(out); i++ {
		tasks, _ := filepath.Glob("/proc/" + out[i] + "/task/*/children")
		for _, task := range tasks {
			b, _ := os.ReadFile(task)
			out = append(out, strings.Fields(string(b))...)
		}
	}
	return out
}

// gone waits until pidfd's process has ended.
func gone(t *testing.T, pidfd *os.File) {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(pidfd.Fd()), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, int(hang.Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			t.Fatalf("the process is still there: %d, %v", n, err)
		}
		return
	}
}

// Whoever of the jail's own processes is killed while init waits, none of the
// others stays, and no command was started.
func TestKillPointsWhileInitWaits(t *testing.T) {
	r := newRig(t)
	for victim := range 3 { // bwrap outside, process 1, init
		s, err := r.start(t, command{argv: []string{"/bin/cat"}, layout: layout(), descs: noDescs})
		if err != nil {
			t.Fatal(err)
		}
		init, err := s.channel.Ready(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all := descendants(t, s.process.PID)
		if len(all) < 3 {
			t.Fatalf("processes %v, want bwrap, process 1 and init", all)
		}
		n, _ := strconv.Atoi(all[victim])
		unix.Kill(n, unix.SIGKILL)
		gone(t, init)
		if _, err := spawn.ReadExit(s.cmd.Status); victim == 0 && !errors.Is(err, spawn.ErrNoExit) {
			t.Errorf("exit status of a killed bwrap: %v, want none", err)
		}
		s.end(t)
		init.Close()
	}
}

func TestInitGivesUpWhenTheDaemonHangsUp(t *testing.T) {
	r := newRig(t)
	ws := workspace(t)
	s, err := r.start(t, command{argv: []string{"/usr/bin/touch", ws + "/ran"}, layout: layout(), descs: noDescs})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.channel.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.channel.Close()
	if code, err := spawn.ReadExit(s.cmd.Status); err != nil || code != 125 {
		t.Errorf("init ended with %d, %v; want 125", code, err)
	}
	s.end(t)
}

func TestSignalsReachTheCommand(t *testing.T) {
	r := newRig(t)
	s, err := r.start(t, command{argv: []string{"/bin/cat"}, layout: layout(), descs: noDescs, stdin: never{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.end(t)
	pidfd := s.goOn(t)
	if err := spawn.Signal(pidfd, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code, err := spawn.ReadExit(s.cmd.Status); err != nil || code != 128+15 {
		t.Errorf("exit %d, %v", code, err)
	}
	gone(t, pidfd)
	if err := spawn.Signal(pidfd, unix.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signalling the dead: %v", err)
	}
}

// never is a stdin that stays open and silent.
type never struct{}

func (never) Read([]byte) (int, error) { select {} }

// Everything a start mounts is in namespaces that end with it.
func TestS26_NothingStaysMounted(t *testing.T) {
	r := newRig(t)
	before := mountinfo(t)
	for range 5 {
		r.sh(t, layout(), noDescs, "true")
	}
	failing := command{argv: []string{"/bin/true"}, layout: layout(), descs: noDescs, stage: func() error { return errors.New("planned") }}
	if o := r.run(t, failing); o.err == nil {
		t.Error("a failing stage started a jail")
	}
	if after := mountinfo(t); !bytes.Equal(before, after) {
		t.Errorf("mounts changed from\n%s\nto\n%s", before, after)
	}
	if left, _ := filepath.Glob(r.dir + "/*"); len(left) != 1 { // omnijail-init
		t.Errorf("left in the staging directory: %v", left)
	}
}
