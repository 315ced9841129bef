package egressd

import (
	"fmt"
	"io"
	"net"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/netns/dnsstub"
)

// sockets are a jail's way out: listeners and packet sockets that the daemon made
// in the jail's network namespace.
type sockets struct {
	tcp     []net.Listener
	proxy   []net.Listener // of the proxy's own port
	udp     []net.PacketConn
	packets *os.File // nil: what is refused in the kernel is not seen
}

// openSockets takes over what came with a jail. After an error everything that it
// made is closed.
func openSockets(m wire.Attach) (s sockets, err error) {
	defer func() {
		if err != nil {
			for _, c := range s.closers() {
				c.Close()
			}
		}
	}()
	if s.tcp, err = listeners(m.TCP); err != nil {
		return s, err
	}
	if s.proxy, err = listeners(m.Proxy); err != nil {
		return s, err
	}
	for _, f := range m.UDP {
		c, err := net.FilePacketConn(f)
		if err != nil {
			return s, err
		}
		s.udp = append(s.udp, c)
		if _, ok := c.(*net.UDPConn); !ok {
			return s, fmt.Errorf("a packet socket is a %s socket", c.LocalAddr().Network())
		}
	}
	s.packets, err = duplicate(m.Packets)
	return s, err
}

// duplicate gives f another descriptor, as package net does with what it takes over.
func duplicate(f *os.File) (*os.File, error) {
	if f == nil {
		return nil, nil
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd, failed := -1, error(nil)
	if err := raw.Control(func(n uintptr) { fd, failed = unix.FcntlInt(n, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, failed
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// listeners makes listeners of sockets. After an error those that it made are
// still returned, to be closed.
func listeners(files []*os.File) (ls []net.Listener, err error) {
	for _, f := range files {
		l, err := net.FileListener(f)
		if err != nil {
			return ls, err
		}
		ls = append(ls, l)
		if _, ok := l.(*net.TCPListener); !ok {
			return ls, fmt.Errorf("a listener is a %s socket", l.Addr().Network())
		}
	}
	return ls, nil
}

// closers are all but packets, which is closed by its reader.
func (s sockets) closers() (cs []io.Closer) {
	for _, l := range slices.Concat(s.tcp, s.proxy) {
		cs = append(cs, l)
	}
	for _, c := range s.udp {
		cs = append(cs, c)
	}
	return cs
}

func closeFiles(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// servesTCP answers DNS over a TCP connection that the proxy has found to be for
// port 53.
func servesTCP(cfg dnsstub.Config) func(net.Conn) {
	return func(c net.Conn) { dnsstub.ServeConn(c, cfg) }
}
