package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pidfd is a process that cannot be mistaken for a later one of its number.
type pidfd struct {
	pid int
	fd  int
}

// hold opens a process of the suite's. It is false when that has ended.
func hold(t testing.TB, pid int) (pidfd, bool) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return pidfd{}, false
	}
	if err != nil {
		t.Fatalf("pidfd_open %d: %v", pid, err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return pidfd{pid, fd}, true
}

// mustHold is hold for a process that the test keeps from ending.
func mustHold(t testing.TB, pid int) pidfd {
	t.Helper()
	p, ok := hold(t, pid)
	if !ok {
		t.Fatalf("process %d has ended", pid)
	}
	return p
}

// signal sends sig; a process that has ended gets none.
func (p pidfd) signal(t testing.TB, sig unix.Signal) {
	t.Helper()
	if err := unix.PidfdSendSignal(p.fd, sig, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		t.Fatalf("%v to %d: %v", sig, p.pid, err)
	}
}

// wait returns once the process has ended.
func (p pidfd) wait(t testing.TB) {
	t.Helper()
	waitFD(t, p.fd, unix.POLLIN, fmt.Sprintf("process %d has not ended", p.pid))
}

// waitFD waits for an event of the kernel on fd.
func waitFD(t testing.TB, fd int, event int16, failure string) {
	t.Helper()
	deadline := time.Now().Add(hang)
	for {
		fds := []unix.PollFd{{Fd: int32(fd), Events: event}}
		n, err := unix.Poll(fds, int(time.Until(deadline).Milliseconds()))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			t.Fatal(err)
		case n == 0:
			t.Fatal(failure)
		default:
			return
		}
	}
}

// until polls what the kernel announces by no event.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(hang); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("still not: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// stat returns the fields of a process after its name: state, parent and so on.
func stat(pid int) []string { return statFile(fmt.Sprintf("/proc/%d/stat", pid)) }

func statFile(name string) []string {
	b, err := os.ReadFile(name)
	if err != nil {
		return []string{"X", "0", "0", "0", "0", "0", "0"}
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return strings.Fields(rest)
}

// parentOf is the parent of a process, 0 when that has ended.
func parentOf(pid int) int {
	ppid, _ := strconv.Atoi(stat(pid)[1])
	return ppid
}

// dead reports whether a process has ended or is past its last instruction,
// reaped or not.
func dead(pid int) bool {
	const exiting = 0x4 // PF_EXITING
	s := stat(pid)
	flags, _ := strconv.ParseUint(s[6], 10, 64)
	return strings.Contains("XZ", s[0]) || flags&exiting != 0
}

// childOf is the one of pids whose parent is parent, 0 for none.
func childOf(parent int, pids []int) int {
	for _, pid := range pids {
		if parentOf(pid) == parent {
			return pid
		}
	}
	return 0
}

// blockedIn reports whether a process waits in a system call.
func blockedIn(pid int, call int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid))
	return err == nil && strings.HasPrefix(string(b), strconv.Itoa(call)+" ")
}

// stopped reports whether no thread of a process runs any more.
func stopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, name := range threads {
		if s := statFile(name)[0]; s != "T" && s != "X" {
			return false
		}
	}
	return len(threads) > 0
}

// allPIDs are the processes of the node.
func allPIDs(t testing.TB) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// descriptors are what the descriptors of a process refer to, sorted.
func descriptors(t testing.TB, pid int) (out []string) {
	t.Helper()
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if to, err := os.Readlink(name); err == nil {
			out = append(out, to)
		}
	}
	slices.Sort(out)
	return out
}
