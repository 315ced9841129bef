package scout

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

var slots = [3]string{"stdin", "stdout", "stderr"}

// vetStdio judges the client's descriptors and returns their kinds and what goes
// to the daemon: a terminal is never passed on, /dev/null stands in its place.
func (s *session) vetStdio(files []*os.File) ([]child.StdioKind, []*os.File, error) {
	var kinds []child.StdioKind
	for i, f := range files {
		kind, err := s.vet(f, i)
		if err != nil {
			return nil, nil, err
		}
		if kind == child.StdioTTY {
			f.Close()
			if files[i], err = os.OpenFile("/dev/null", os.O_RDWR, 0); err != nil {
				return nil, nil, err
			}
		}
		kinds = append(kinds, kind)
	}
	return kinds, files, nil
}

// vet is the table of what may become descriptor 0, 1 or 2 of a jailed command.
// What is not in it is a way out: a directory leads anywhere, an append-only file
// can be reopened for reading, a device or an anonymous inode has its own powers.
func (s *session) vet(f *os.File, slot int) (child.StdioKind, error) {
	st, _, err := stat(f)
	if err != nil {
		return "", err
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil {
		return "", fmt.Errorf("flags of %s: %w", slots[slot], err)
	}
	if flags&unix.O_PATH != 0 {
		return "", refuseSlot(slot, "opened as a path only")
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return "", refuseSlot(slot, "a directory")
	case unix.S_IFIFO, unix.S_IFSOCK, unix.S_IFCHR, unix.S_IFREG:
		if !fits(flags, slot) {
			return "", refuseSlot(slot, "opened for the other direction")
		}
		return s.vetKind(f, st, slot)
	}
	return "", refuseSlot(slot, "of a kind that cannot be passed")
}

func (s *session) vetKind(f *os.File, st unix.Stat_t, slot int) (child.StdioKind, error) {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFSOCK:
		return child.StdioSocket, s.vetSocket(f, slot)
	case unix.S_IFCHR:
		return s.vetDevice(f, st, slot)
	case unix.S_IFREG:
		return child.StdioFile, s.vetFile(f, slot)
	}
	return child.StdioPipe, nil
}

func fits(flags, slot int) bool {
	mode := flags & unix.O_ACCMODE
	return mode == unix.O_RDWR || (mode == unix.O_RDONLY) == (slot == 0) && mode != unix.O_ACCMODE
}

func (s *session) vetDevice(f *os.File, st unix.Stat_t, slot int) (child.StdioKind, error) {
	if _, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS); err == nil {
		if s.req.TTY {
			return child.StdioTTY, nil
		}
		return "", refuseSlot(slot, "a terminal, and no terminal was asked for")
	}
	const memory = 1 // null 3, zero 5, full 7, random 8, urandom 9
	if unix.Major(st.Rdev) == memory {
		switch unix.Minor(st.Rdev) {
		case 3, 5, 7, 8, 9:
			return child.StdioDevice, nil
		}
	}
	return "", refuseSlot(slot, "a device")
}

// vetSocket lets a connected stream of AF_UNIX pass, unless it leads to us: such
// a one would carry requests from inside the jail in the client's name.
func (s *session) vetSocket(f *os.File, slot int) error {
	fd := int(f.Fd())
	for _, want := range [][2]int{
		{unix.SO_DOMAIN, unix.AF_UNIX}, {unix.SO_TYPE, unix.SOCK_STREAM}, {unix.SO_ACCEPTCONN, 0},
	} {
		if got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, want[0]); err != nil || got != want[1] {
			return refuseSlot(slot, "a socket of another kind than a connected Unix stream")
		}
	}
	peer, err := unix.Getpeername(fd)
	if err != nil {
		return refuseSlot(slot, "a socket that is not connected")
	}
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil || int(cred.Pid) == os.Getppid() {
		return refuseSlot(slot, "a connection to omnijail itself")
	}
	for _, sa := range []unix.Sockaddr{peer, ownName(fd)} {
		un, ok := sa.(*unix.SockaddrUnix)
		if !ok {
			return refuseSlot(slot, "a socket without a Unix address")
		}
		for _, ours := range s.ask.Listeners {
			if un.Name == ours {
				return refuseSlot(slot, "a connection to omnijail itself")
			}
		}
	}
	return nil
}

func ownName(fd int) unix.Sockaddr {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return nil
	}
	return sa
}

func refuseSlot(slot int, what string) error {
	e := refuse("stdio", "%s is %s; pipe it instead", slots[slot], what)
	e.Fix = "omnijailctl does that by itself; another client passes a pipe"
	return e
}
