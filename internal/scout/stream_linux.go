package scout

import (
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// backlog is how many connections wait to be accepted.
const backlog = 128

// listenOn listens on a port of one loopback address of the node. No option shares
// the port with anybody.
func listenOn(a unix.Sockaddr) (*os.File, error) {
	family := unix.AF_INET
	if _, six := a.(*unix.SockaddrInet6); six {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_TCP)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "listener")
	if family == unix.AF_INET6 {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1)
	}
	// A server that was here a moment ago does not keep the port.
	err = errors.Join(err, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
	if err == nil {
		err = unix.Bind(fd, a)
	}
	if err == nil {
		err = unix.Listen(fd, backlog)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// pollable makes a descriptor that was received wait by itself.
func pollable(f *os.File) (*os.File, error) {
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// accept waits for a connection.
func accept(l *os.File) (*os.File, error) {
	raw, err := l.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	var failed error
	err = raw.Read(func(from uintptr) bool {
		fd, _, failed = unix.Accept4(int(from), unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		return failed != unix.EAGAIN && failed != unix.EINTR && failed != unix.ECONNABORTED
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "accepted"), nil
}

// connect connects f to a port of 127.0.0.1 in the network that f is of.
func connect(f *os.File, port uint16) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	begun, failed := false, error(nil)
	err = raw.Write(func(fd uintptr) bool {
		if !begun {
			begun = true
			failed = unix.Connect(int(fd), &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}})
			return failed != unix.EINPROGRESS
		}
		var code int
		if code, failed = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR); failed == nil && code != 0 {
			failed = unix.Errno(code)
		}
		return true
	})
	return errors.Join(err, failed)
}

// splice copies both ways until both have ended. The end of one way is passed on.
func splice(a, b *os.File) {
	var both sync.WaitGroup
	for _, way := range [][2]*os.File{{a, b}, {b, a}} {
		both.Go(func() {
			_, err := io.Copy(way[1], way[0])
			how := unix.SHUT_WR
			if err != nil {
				how = unix.SHUT_RDWR
			}
			if raw, err := way[1].SyscallConn(); err == nil {
				raw.Control(func(fd uintptr) { unix.Shutdown(int(fd), how) })
			}
		})
	}
	both.Wait()
	a.Close()
	b.Close()
}
