package peercred

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrGone says that the peer has ended, so that nothing can be said about it.
var ErrGone = errors.New("the process that connected has ended")

// From asks the kernel who connected. It refuses a peer that has ended and one
// that is in no pid namespace of ours.
func From(conn *net.UnixConn) (Caller, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return Caller{}, fmt.Errorf("peer credentials: %w", err)
	}
	var c Caller
	ctlErr := raw.Control(func(fd uintptr) { c, err = fromFD(int(fd)) })
	if err = errors.Join(ctlErr, err); err != nil {
		return Caller{}, fmt.Errorf("peer credentials: %w", err)
	}
	return c, nil
}

func fromFD(fd int) (Caller, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Caller{}, err
	}
	if cred.Pid <= 0 {
		return Caller{}, errors.New("the peer is in another pid namespace")
	}
	groups, err := peerGroups(fd)
	if err != nil {
		return Caller{}, err
	}
	label, err := peerLabel(fd)
	if err != nil {
		return Caller{}, err
	}
	pidfd, err := peerPidFD(fd, cred)
	if err != nil {
		return Caller{}, err
	}
	c := Caller{known: true, uid: cred.Uid, gid: cred.Gid, groups: groups, pid: int(cred.Pid), pidfd: pidfd, label: label}
	if err := c.alive(); err != nil {
		pidfd.Close()
		return Caller{}, err
	}
	return c, nil
}

// peerGroups is SO_PEERGROUPS, asked again with the size that the kernel names.
func peerGroups(fd int) ([]uint32, error) {
	groups := make([]uint32, 64)
	for range 2 {
		size := uint32(4 * len(groups))
		err := getsockopt(fd, unix.SO_PEERGROUPS, unsafe.Pointer(&groups[0]), &size)
		if err == nil {
			return groups[:size/4], nil
		}
		if err != unix.ERANGE {
			return nil, fmt.Errorf("groups: %w", err)
		}
		groups = make([]uint32, size/4+1)
	}
	return nil, fmt.Errorf("groups: %w", unix.ERANGE)
}

// peerLabel is SO_PEERSEC; a kernel without a labelling module has none.
func peerLabel(fd int) (string, error) {
	label := make([]byte, 1024)
	size := uint32(len(label))
	err := getsockopt(fd, unix.SO_PEERSEC, unsafe.Pointer(&label[0]), &size)
	if err == unix.ENOPROTOOPT || err == unix.EOPNOTSUPP {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("security label: %w", err)
	}
	return string(bytes.TrimRight(label[:size], "\x00\n")), nil
}

func getsockopt(fd, name int, value unsafe.Pointer, size *uint32) error {
	_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, uintptr(name), uintptr(value), uintptr(unsafe.Pointer(size)), 0)
	if e != 0 {
		return e
	}
	return nil
}

// peerPidFD is SO_PEERPIDFD. Below Linux 6.5 it opens the pid and looks whether
// that process can be the one that connected, which is best effort.
func peerPidFD(fd int, cred *unix.Ucred) (*os.File, error) {
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	switch err {
	case nil:
		unix.CloseOnExec(n)
		return os.NewFile(uintptr(n), "peer"), nil
	case unix.ENOPROTOOPT:
		return openPid(cred)
	case unix.ESRCH, unix.EINVAL, unix.ENODATA:
		return nil, ErrGone
	}
	return nil, fmt.Errorf("pidfd: %w", err)
}

func openPid(cred *unix.Ucred) (*os.File, error) {
	n, err := unix.PidfdOpen(int(cred.Pid), 0)
	if err == unix.ESRCH {
		return nil, ErrGone
	}
	if err != nil {
		return nil, fmt.Errorf("pidfd: %w", err)
	}
	f := os.NewFile(uintptr(n), "peer")
	st, err := readStatus(int(cred.Pid))
	if err == nil && st.uid != cred.Uid {
		err = ErrGone
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// alive is nil while the peer runs: a pidfd becomes readable when it ends.
func (c Caller) alive() error {
	fds := []unix.PollFd{{Fd: int32(c.must().pidfd.Fd()), Events: unix.POLLIN}}
	if fds[0].Fd < 0 { // closed, and poll looks at nothing then
		return ErrGone
	}
	for {
		n, err := unix.Poll(fds, 0)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return fmt.Errorf("poll pidfd: %w", err)
		case n > 0:
			return ErrGone
		default:
			return nil
		}
	}
}
