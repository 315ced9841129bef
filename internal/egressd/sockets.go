package egressd

import (
	"fmt"
	"io"
	"net"
	"os"
	"slices"

	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/netns/dnsstub"
)

// sockets are a jail's way out: listeners and packet sockets that the daemon made
// in the jail's network namespace.
type sockets struct {
	tcp   []net.Listener
	proxy []net.Listener // of the proxy's own port
	udp   []net.PacketConn
}

func openSockets(m wire.Attach) (s sockets, err error) {
	defer func() {
		if err != nil {
			for _, c := range s.closers() {
				c.Close()
			}
		}
	}()
	if s.tcp, err = listeners(m.TCP4, m.TCP6); err != nil {
		return s, err
	}
	if m.Proxy4 != nil {
		if s.proxy, err = listeners(m.Proxy4, m.Proxy6); err != nil {
			return s, err
		}
	}
	for _, f := range given(m.UDP4, m.UDP6) {
		c, err := net.FilePacketConn(f)
		if err != nil {
			return s, err
		}
		s.udp = append(s.udp, c)
		if _, ok := c.(*net.UDPConn); !ok {
			return s, fmt.Errorf("a packet socket is a %s socket", c.LocalAddr().Network())
		}
	}
	return s, nil
}

// listeners makes listeners of sockets. After an error those that it made are
// still returned, to be closed.
func listeners(v4, v6 *os.File) (ls []net.Listener, err error) {
	for _, f := range given(v4, v6) {
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

// given leaves out IPv6 where the node runs without.
func given(v4, v6 *os.File) []*os.File {
	if v6 == nil {
		return []*os.File{v4}
	}
	return []*os.File{v4, v6}
}

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
