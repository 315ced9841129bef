package reaper

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/seccomp"
)

const (
	exitFailed = 125
	hostname   = "omnijail"
)

// Main is the verb; it returns the command's exit code. The calling goroutine
// must be locked to the process's main thread.
func Main(args []string) int {
	code, err := run(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "omnijail-init: reap:", err)
		return exitFailed
	}
	return code
}

func run(args []string) (int, error) {
	o, err := Parse(args)
	if err != nil {
		return 0, err
	}
	if os.Getpid() != 1 {
		return 0, errors.New("not in a process namespace of its own: it is started by omnijaild, not by hand")
	}
	for _, s := range []struct {
		name string
		do   func() error
	}{
		{"hide this process", func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }},
		{"cgroup namespace", func() error { return unix.Unshare(unix.CLONE_NEWCGROUP) }},
		{"host name", func() error { return unix.Sethostname([]byte(hostname)) }},
		{"files", o.files},
		{"capabilities", func() error { return keep(unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP) }},
		{"system call filter", o.filter},
	} {
		if err := s.do(); err != nil {
			return 0, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	pid, err := o.start()
	if err != nil {
		return 0, fmt.Errorf("start init: %w", err)
	}
	if err := keep(); err != nil {
		return 0, fmt.Errorf("give capabilities up: %w", err)
	}
	code, err := reap(pid)
	if err != nil {
		return 0, err
	}
	_, err = unix.Write(o.Status, []byte(`{"exit-code": `+strconv.Itoa(code)+"}\n"))
	return code, err
}

// filter puts the outer filter on every thread of this process; what init starts
// inherits it.
func (o Order) filter() error {
	f, err := seccomp.Outer(o.Filter)
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return f.InstallAll()
}

// start runs omnijail-init run on the donated descriptors and closes them here:
// what a process of the jail's still holds open shows at the other end.
func (o Order) start() (pid int, err error) {
	unix.CloseOnExec(o.Status)
	files := make([]uintptr, o.Channel+1)
	for i := range files {
		files[i] = uintptr(i)
	}
	args := []string{"omnijail-init", "run", strconv.Itoa(o.Channel), o.Filter}
	pid, err = syscall.ForkExec("/proc/self/fd/"+strconv.Itoa(o.Init), args, &syscall.ProcAttr{Env: []string{}, Files: files})
	if err != nil {
		return 0, err
	}
	return pid, unix.CloseRange(firstDonated, uint(o.Channel), 0)
}

// reap waits for every process of the jail until the one called pid has ended,
// and returns its exit code: its own, or 128 and the signal.
func reap(pid int) (int, error) {
	for {
		var status unix.WaitStatus
		ended, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, fmt.Errorf("wait: %w", err)
		case ended == pid && status.Signaled():
			return 128 + int(status.Signal()), nil
		case ended == pid && status.Exited():
			return status.ExitStatus(), nil
		}
	}
}
