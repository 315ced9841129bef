package initrun

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/landlock"
	"github.com/omnijail/omnijail/internal/seccomp"
)

// wall adds Landlock behind the mounts. Paths are opened by the caller, in the view
// that the command has.
func wall(l *child.Launch) *child.StartError {
	if l.Wall == child.WallNone {
		return nil
	}
	abi := landlock.ABI()
	if !landlock.Holds(abi) {
		if l.Wall == child.WallNeeded {
			return fail(child.StepWall, unix.ENOSYS, "Landlock")
		}
		return nil // the mounts alone; doctor says so
	}
	w := landlock.Wall{Files: l.Wall != child.WallScopes, Places: l.Places}
	if err := landlock.Lower(w, abi).Restrict(); err != nil {
		return fail(child.StepWall, err, err.Error())
	}
	return nil
}

// restrict installs the system call filters that a command may have beside its
// jail's; that of an observed jail's reports is the last, since what follows is
// reported by it.
func restrict(l *child.Launch) *child.StartError {
	if l.Wall == child.WallNone {
		return nil
	}
	if l.NoUnix {
		if failed := install(seccomp.NoUnixSockets()); failed != nil {
			return failed
		}
	}
	if l.Observer == 0 {
		return nil
	}
	return notify(l.Observer)
}

// notify has the jail's calls reported to the process at the other end of socket,
// which answers them from now on.
func notify(socket int) *child.StartError {
	f, err := seccomp.Notify()
	if err != nil {
		return fail(child.StepFilter, unix.EINVAL, err.Error())
	}
	listener, err := f.InstallListener()
	if err != nil {
		return fail(child.StepFilter, err, err.Error())
	}
	if err := unix.Sendmsg(socket, []byte{0}, unix.UnixRights(int(listener.Fd())), nil, unix.MSG_NOSIGNAL); err != nil {
		return fail(child.StepFilter, err, "send the listener")
	}
	unix.Close(socket)
	if err := listener.Close(); err != nil {
		return fail(child.StepFilter, err, "close the listener")
	}
	return nil
}

func install(f seccomp.Filter, err error) *child.StartError {
	if err != nil {
		return fail(child.StepFilter, unix.EINVAL, err.Error())
	}
	if err := f.Install(); err != nil {
		return fail(child.StepFilter, err, err.Error())
	}
	return nil
}

// stdio puts the donated descriptors on 0, 1 and 2, where until now the
// backend's own were, and starts a session: a process group shared with the
// daemon would let kill(0) reach other jails of the same uid.
func stdio(l *child.Launch) *child.StartError {
	for slot, fd := range l.Stdio {
		if fd == -1 {
			null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
			if err != nil {
				return fail(child.StepStdio, err, "/dev/null")
			}
			fd = null
		}
		if err := unix.Dup3(fd, slot, 0); err != nil {
			return fail(child.StepStdio, err, "dup3")
		}
	}
	// Where no backend stands before it, the spawner has made it a leader.
	if sid, err := unix.Getsid(0); err == nil && sid == unix.Getpid() && l.Wall == child.WallNone {
		return controlling(l)
	}
	if _, err := unix.Setsid(); err != nil {
		return fail(child.StepStdio, err, "setsid")
	}
	return controlling(l)
}

// controlling makes the command's terminal that of its session.
func controlling(l *child.Launch) *child.StartError {
	if l.TTY {
		if err := unix.IoctlSetInt(0, unix.TIOCSCTTY, 0); err != nil {
			return fail(child.StepStdio, err, "controlling terminal")
		}
	}
	return nil
}

// enter changes into the working directory with the caller's own rights.
func enter(l *child.Launch) *child.StartError {
	if err := unix.Chdir(l.Cwd); err != nil {
		return fail(child.StepChdir, err, l.Cwd)
	}
	return nil
}

// resetSignals gives the command default dispositions and an empty mask: what
// the backend or the daemon ignored would stay ignored.
func resetSignals() *child.StartError {
	const words = 4 // handler, flags, restorer, mask
	var dfl [words]uintptr
	for sig := uintptr(1); sig <= 64; sig++ {
		if sig == uintptr(unix.SIGKILL) || sig == uintptr(unix.SIGSTOP) {
			continue
		}
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&dfl)), 0, 8, 0, 0)
		if errno != 0 {
			return fail(child.StepExec, errno, "signal dispositions")
		}
	}
	var none uint64
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&none)), 0, 8, 0, 0)
	if errno != 0 {
		return fail(child.StepExec, errno, "signal mask")
	}
	return nil
}
