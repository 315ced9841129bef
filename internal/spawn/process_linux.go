package spawn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// maxComplaint bounds what is kept of the backend's own words, in bytes.
const maxComplaint = 4096

// Process is the outermost process of a jail.
type Process struct {
	PID    int
	PidFD  *os.File
	stderr *os.File
}

// start forks on the calling thread.
func start(cmd *jail.Cmd, cgroup, devNull *os.File) (*Process, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()

	// The executable is one more descriptor of the child's, so that the path
	// below means it there, after the others were put into their places.
	donated := append([]*os.File{devNull, devNull, w}, cmd.Donated()...)
	files, err := numbers(append(donated, cmd.Exe))
	if err != nil {
		return nil, err
	}
	exe := len(files) - 1

	pidfd := -1
	attr := &syscall.ProcAttr{
		Env:   nil, // none: a command's own is init's to apply, in the last execve
		Files: files,
		Sys: &syscall.SysProcAttr{
			Pdeathsig:  syscall.SIGKILL,
			Setsid:     true, // signals to the daemon's group or terminal are not for jails
			PidFD:      &pidfd,
			Cloneflags: cmd.Namespaces,
		},
	}
	if cgroup != nil {
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, int(cgroup.Fd())
	}
	pid, err := syscall.ForkExec(fmt.Sprintf("/proc/self/fd/%d", exe), cmd.Args, attr)
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("execute %s: %w", cmd.Args[0], err)
	}
	if pidfd < 0 || unix.SetNonblock(pidfd, true) != nil {
		unix.Kill(pid, unix.SIGKILL) // not yet waited for, so the number is still its
		unix.Wait4(pid, nil, 0, nil)
		r.Close()
		return nil, errors.New("this kernel gives no pidfd: Linux 5.10 or newer is needed")
	}
	return &Process{PID: pid, PidFD: os.NewFile(uintptr(pidfd), "pidfd"), stderr: r}, nil
}

// numbers returns the descriptors of files. Fd would clear O_NONBLOCK, which is
// shared with whoever else holds a donated descriptor.
func numbers(files []*os.File) ([]uintptr, error) {
	out := make([]uintptr, len(files))
	for i, f := range files {
		conn, err := f.SyscallConn()
		if err != nil {
			return nil, err
		}
		if err := conn.Control(func(fd uintptr) { out[i] = fd }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Wait waits until the process has ended and reaps it. After an error of ctx it
// may be called again; after success it may not.
func (p *Process) Wait(ctx context.Context) (syscall.WaitStatus, error) {
	conn, err := p.PidFD.SyscallConn()
	if err != nil {
		return 0, err
	}
	p.PidFD.SetReadDeadline(time.Time{})
	stop := context.AfterFunc(ctx, func() { p.PidFD.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()

	var status unix.WaitStatus
	var failed error
	err = conn.Read(func(uintptr) bool {
		pid, err := unix.Wait4(p.PID, &status, unix.WNOHANG, nil)
		for err == unix.EINTR {
			pid, err = unix.Wait4(p.PID, &status, unix.WNOHANG, nil)
		}
		failed = err
		return err != nil || pid == p.PID
	})
	if err != nil {
		return 0, errors.Join(ctx.Err(), err)
	}
	if failed != nil {
		return 0, fmt.Errorf("wait for jail: %w", failed)
	}
	return syscall.WaitStatus(status), nil
}

// Signal sends sig to the process.
func (p *Process) Signal(sig unix.Signal) error { return Signal(p.PidFD, sig) }

// Complaint returns what the backend wrote to its standard error, cut to 4 KiB:
// words for the daemon's log, never for the user's terminal. It does not wait
// for more, and is called once the process has ended.
func (p *Process) Complaint() string {
	buf := make([]byte, maxComplaint)
	n := 0
	conn, err := p.stderr.SyscallConn()
	if err != nil {
		return ""
	}
	conn.Control(func(fd uintptr) {
		if got, err := unix.Read(int(fd), buf); err == nil {
			n = got
		}
	})
	return string(buf[:n])
}

// Close releases the descriptors. It does not end the process.
func (p *Process) Close() error {
	return errors.Join(p.PidFD.Close(), p.stderr.Close())
}

// Ended reports whether the process that pidfd names has ended, reaped or not.
func Ended(pidfd *os.File) bool {
	fds, err := numbers([]*os.File{pidfd})
	if err != nil {
		return true
	}
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fds[0]), Events: unix.POLLIN}}, 0)
	return err != nil && err != unix.EINTR || n > 0
}

// Signal sends sig to the process that pidfd names; none if it has ended.
func Signal(pidfd *os.File, sig unix.Signal) error {
	conn, err := pidfd.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		failed = unix.PidfdSendSignal(int(fd), sig, nil, 0)
	})
	if errors.Is(failed, unix.ESRCH) {
		failed = os.ErrProcessDone
	}
	return errors.Join(err, failed)
}
