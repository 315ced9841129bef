package initrun

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// channel is the descriptor of the socket to the daemon.
type channel int

// ready hands the daemon a pidfd of this process and waits for its go, which
// brings the launch record and the files that it speaks of. False means that the
// daemon is gone or does not want the command any more.
func (c channel) ready() (files []int, ok bool) {
	unix.CloseOnExec(int(c))
	pidfd, err := unix.PidfdOpen(unix.Getpid(), 0)
	if err != nil {
		c.fail(fail(child.StepLaunch, err, "pidfd_open"))
		return nil, false
	}
	err = unix.Sendmsg(int(c), []byte("R"), unix.UnixRights(pidfd), nil, unix.MSG_NOSIGNAL)
	unix.Close(pidfd)
	if err != nil {
		return nil, false
	}
	var answer [1]byte
	rights := make([]byte, unix.CmsgSpace(4*(1+child.MaxFiles)))
	n, length, flags := c.receive(answer[:], rights)
	if n != 1 || answer[0] != 'G' || flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		return nil, false
	}
	messages, err := unix.ParseSocketControlMessage(rights[:length])
	if err != nil || len(messages) != 1 {
		return nil, false
	}
	files, err = unix.ParseUnixRights(&messages[0])
	return files, err == nil && len(files) > 0
}

// receive waits for one packet. The call is raw: the runtime would see a long one
// and start threads for nobody.
func (c channel) receive(b, rights []byte) (n, length, flags int) {
	part := unix.Iovec{Base: &b[0]}
	part.SetLen(len(b))
	for {
		message := unix.Msghdr{Iov: &part, Iovlen: 1, Control: &rights[0]}
		message.SetControllen(len(rights))
		got, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(c), uintptr(unsafe.Pointer(&message)), unix.MSG_CMSG_CLOEXEC)
		switch errno {
		case 0:
			return int(got), int(message.Controllen), int(message.Flags)
		case unix.EINTR:
		default:
			return -1, 0, 0
		}
	}
}

// fail reports e; a daemon that is gone is not missed.
func (c channel) fail(e *child.StartError) {
	unix.Sendto(int(c), child.EncodeStartError(e), unix.MSG_NOSIGNAL, nil)
}
