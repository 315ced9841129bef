package dnsstub

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// packets is what a datagram socket needs for its answers to come from the
// address that was asked: the control messages that say which that was.
type packets interface {
	syscall.Conn
	ReadMsgUDPAddrPort(b, oob []byte) (n, oobn, flags int, addr netip.AddrPort, err error)
	WriteMsgUDPAddrPort(b, oob []byte, addr netip.AddrPort) (n, oobn int, err error)
}

// maxControl is room for one address in a control message, with its header.
const maxControl = 128

// buffers are lent to one query at a time: a socket that nobody asks has none.
var buffers = sync.Pool{New: func() any { return new(buffer) }}

type buffer struct {
	msg     [maxMessage + 1]byte
	control [maxControl]byte
}

// arrived waits for a datagram and leaves it where it is.
func arrived(c packets) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Read(func(fd uintptr) bool {
		_, _, err := unix.Recvfrom(int(fd), nil, unix.MSG_PEEK|unix.MSG_DONTWAIT)
		return err != unix.EAGAIN
	})
}

// Serve answers the datagrams that arrive on c, one after the other, until c is
// closed; then it returns nil. Any other error of reading ends it: a jail
// without names is safe, and its owner should hear why. On a *net.UDPConn whose
// socket delivers the address each datagram was sent to, answers come from
// there.
func Serve(c net.PacketConn, cfg Config) error {
	serve := func() error { return servePlain(c, &cfg) }
	if udp, ok := c.(packets); ok {
		serve = func() error { return serveControl(udp, &cfg) }
	}
	if err := serve(); !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("serve dns: %w", err)
	}
	return nil
}

// serveControl sends the control message that came with a query back with the
// answer: the kernel's "sent to" is then its "send from".
func serveControl(c packets, cfg *Config) error {
	for {
		if err := arrived(c); err != nil {
			return err
		}
		b := buffers.Get().(*buffer)
		n, controlLen, _, from, err := c.ReadMsgUDPAddrPort(b.msg[:], b.control[:])
		if err != nil {
			return err
		}
		if reply := cfg.answer(b.msg[:n]); reply != nil {
			// What cannot be sent is lost, as any datagram may be.
			c.WriteMsgUDPAddrPort(reply, b.control[:controlLen], from)
		}
		buffers.Put(b)
	}
}

func servePlain(c net.PacketConn, cfg *Config) error {
	msg := make([]byte, maxMessage+1)
	for {
		n, from, err := c.ReadFrom(msg)
		if err != nil {
			return err
		}
		if reply := cfg.answer(msg[:n]); reply != nil {
			c.WriteTo(reply, from) // as above
		}
	}
}
