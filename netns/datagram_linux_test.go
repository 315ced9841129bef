package netns

import (
	"net"
	"os"
	"testing"
)

// A server that answers from the address it was asked at, with nothing but the
// control message it got, is what the options of the sockets are for.
func TestPort53OfEachAddressIsOurs(t *testing.T) {
	n := newNet(t)
	for _, f := range n.Sockets().UDP {
		echo(t, f)
	}
	for _, dst := range []string{
		"198.18.0.53:53", "8.8.8.8:53", "127.0.0.53:53", "127.0.0.1:53",
		"[2001:4860:4860::8888]:53", "[::1]:53",
	} {
		if got := inside(t, n, "datagram", dst); got != "node hello" {
			t.Errorf("ask %s: %q", dst, got)
		}
		if got, want := inside(t, n, "ask", dst), "node hello from "+dst; got != want {
			t.Errorf("ask %s from an unconnected socket: %q, want %q", dst, got, want)
		}
	}
}

func echo(t *testing.T, f *os.File) {
	t.Helper()
	c, err := net.FilePacketConn(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	udp := c.(*net.UDPConn)
	go func() {
		buf, oob := make([]byte, 512), make([]byte, 128)
		for {
			k, oobn, _, from, err := udp.ReadMsgUDPAddrPort(buf, oob)
			if err != nil {
				return
			}
			udp.WriteMsgUDPAddrPort(append([]byte("node "), buf[:k]...), oob[:oobn], from)
		}
	}()
}
