package dnsstub

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// packets is what a datagram socket needs for its answers to come from the
// address that was asked: the control messages that say which that was.
type packets interface {
	ReadMsgUDPAddrPort(b, oob []byte) (n, oobn, flags int, addr netip.AddrPort, err error)
	WriteMsgUDPAddrPort(b, oob []byte, addr netip.AddrPort) (n, oobn int, err error)
}

// maxControl is room for one address in a control message, with its header.
const maxControl = 128

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
	msg, control := make([]byte, maxMessage+1), make([]byte, maxControl)
	for {
		n, controlLen, _, from, err := c.ReadMsgUDPAddrPort(msg, control)
		if err != nil {
			return err
		}
		if reply := cfg.answer(msg[:n]); reply != nil {
			// What cannot be sent is lost, as any datagram may be.
			c.WriteMsgUDPAddrPort(reply, control[:controlLen], from)
		}
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
