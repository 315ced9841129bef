package netns

import (
	"fmt"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/ownthread"
)

// Listen listens on a port of 127.0.0.1 in the namespace.
func (n *Net) Listen(port uint16) (*os.File, error) {
	var f *os.File
	err := n.inside(func() (err error) {
		f, err = listenLoopback(loopback4, port)
		return err
	})
	return f, err
}

var loopback4 = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// listenLoopback listens on a port of a in the calling thread's namespace. It
// shares the port with nobody.
func listenLoopback(a netip.Addr, port uint16) (*os.File, error) {
	f, err := socket(a, unix.SOCK_STREAM, unix.IPPROTO_TCP)
	if err != nil {
		return nil, err
	}
	fd := int(f.Fd())
	if err = unix.Bind(fd, sockaddr(a, int(port))); err == nil {
		err = unix.Listen(fd, backlog)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("listen on port %d of the jail: %w", port, err)
	}
	return f, nil
}

// Socket makes an unconnected socket of TCP over IPv4 in the namespace.
func (n *Net) Socket() (*os.File, error) {
	var f *os.File
	err := n.inside(func() (err error) {
		f, err = socket(netip.IPv4Unspecified(), unix.SOCK_STREAM, unix.IPPROTO_TCP)
		return err
	})
	return f, err
}

// inside runs f on a thread that is in the namespace and ends with it. Close may
// come meanwhile: the descriptor is held while it is used, so that its number
// never means another jail's network.
func (n *Net) inside(f func() error) error {
	raw, err := n.ns.SyscallConn()
	if err != nil {
		return fmt.Errorf("enter network namespace: %w", err)
	}
	return ownthread.Run(func() error {
		var entered error
		if err := raw.Control(func(fd uintptr) { entered = unix.Setns(int(fd), unix.CLONE_NEWNET) }); err != nil {
			return fmt.Errorf("enter network namespace: %w", err)
		}
		if entered != nil {
			return fmt.Errorf("enter network namespace: %w", entered)
		}
		return f()
	})
}
