package initrun

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// channel is the descriptor of the socket to the daemon.
type channel int

// ready hands the daemon a pidfd of this process and waits for its go. False
// means that the daemon is gone or does not want the command any more.
func (c channel) ready() bool {
	unix.CloseOnExec(int(c))
	pidfd, err := unix.PidfdOpen(unix.Getpid(), 0)
	if err != nil {
		c.fail(fail(child.StepLaunch, err, "pidfd_open"))
		return false
	}
	err = unix.Sendmsg(int(c), []byte("R"), unix.UnixRights(pidfd), nil, unix.MSG_NOSIGNAL)
	unix.Close(pidfd)
	if err != nil {
		return false
	}
	// Raw: the runtime would see a long call and start threads for nobody.
	var answer [1]byte
	for {
		n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(c), uintptr(unsafe.Pointer(&answer)), 1)
		if errno == unix.EINTR {
			continue
		}
		return errno == 0 && n == 1 && answer[0] == 'G'
	}
}

// fail reports e; a daemon that is gone is not missed.
func (c channel) fail(e *child.StartError) {
	unix.Sendto(int(c), child.EncodeStartError(e), unix.MSG_NOSIGNAL, nil)
}
