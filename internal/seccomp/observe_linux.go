package seccomp

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Reported is one system call that the notify filter reports.
type Reported struct {
	Name   string
	File   bool   // names a file and goes on; all others are refused
	Weaken string // the weakening that gives a refused one back, empty if none does
}

// Notify returns the filter that stands beside that of Observed and reports to its
// listener. It has no answers of its own.
func Notify() (Filter, error) { return load("notify") }

// Observer returns the filter of the process that listens: no execve, no process
// of its own, no socket, nobody's memory written.
func Observer() (Filter, error) { return load("observer") }

// Calls returns what the notify filter reports, by number.
func Calls() (map[int32]Reported, error) {
	name := "bpf/" + runtime.GOARCH + "-calls.txt"
	table, err := programs.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("no table of reported calls for %s in this build", runtime.GOARCH)
	}
	calls := map[int32]Reported{}
	for line := range strings.Lines(string(table)) {
		var nr int32
		var call, what string
		if _, err := fmt.Sscanf(line, "%d %s %s", &nr, &call, &what); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r := Reported{Name: call, File: what == "file"}
		if !r.File && what != "-" {
			r.Weaken = what
		}
		calls[nr] = r
	}
	return calls, nil
}

// InstallListener puts the filter on the calling thread and what it starts, as
// Install does, and returns the descriptor, close-on-exec, at which its
// notifications arrive. Where nobody holds that any more, they are answered with
// ENOSYS.
func (f Filter) InstallListener() (*os.File, error) {
	program, err := f.instructions()
	if err != nil {
		return nil, err
	}
	head := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	// Once a notification was received, only death interrupts the call: a runtime
	// that interrupts its threads all the time would start it anew each time.
	for _, flags := range []uintptr{unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER} {
		fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&head)))
		runtime.KeepAlive(program)
		if errno == 0 {
			return os.NewFile(fd, "seccomp listener"), nil
		}
		if errno != unix.EINVAL {
			return nil, fmt.Errorf("install seccomp listener: %w", errno)
		}
	}
	return nil, fmt.Errorf("install seccomp listener: %w", unix.EINVAL)
}
