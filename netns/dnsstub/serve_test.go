package dnsstub

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// plainConn hides the methods of a UDP socket, as a wrapped connection would.
type plainConn struct{ net.PacketConn }

func TestGoResolverOverUDP(t *testing.T) {
	for _, wrap := range []func(net.PacketConn) net.PacketConn{
		func(c net.PacketConn) net.PacketConn { return c },
		func(c net.PacketConn) net.PacketConn { return plainConn{c} },
	} {
		c, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		cfg, _ := stub("api.github.com")
		served := make(chan error, 1)
		go func() { served <- Serve(wrap(c), *cfg) }()
		checkResolver(t, "udp", c.LocalAddr().String())
		c.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve after close: %v", err)
		}
	}
}

func TestGoResolverOverTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cfg, _ := stub("api.github.com")
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go ServeConn(c, *cfg)
		}
	}()
	checkResolver(t, "tcp", l.Addr().String())
}

func checkResolver(t *testing.T, network, server string) {
	t.Helper()
	r := net.Resolver{PreferGo: true, StrictErrors: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server)
	}}
	addrs, err := r.LookupHost(t.Context(), "api.github.com.")
	slices.Sort(addrs)
	if want := []string{"198.18.1.0", "fd6f:6d6e:696a::100"}; err != nil || !slices.Equal(addrs, want) {
		t.Errorf("%s: %v, %v; want %v", network, addrs, err, want)
	}
	var dnsErr *net.DNSError
	if _, err := r.LookupHost(t.Context(), "denied.invalid."); !errors.As(err, &dnsErr) || !dnsErr.IsNotFound {
		t.Errorf("%s: denied name: %v", network, err)
	}
	names, err := r.LookupAddr(t.Context(), "198.18.1.0")
	if err != nil || !slices.Equal(names, []string{"api.github.com."}) {
		t.Errorf("%s: PTR: %v, %v", network, names, err)
	}
}

type brokenConn struct{ net.PacketConn }

func (brokenConn) ReadFrom([]byte) (int, net.Addr, error) { return 0, nil, io.ErrUnexpectedEOF }

func TestServeSaysWhyItEnded(t *testing.T) {
	cfg, _ := stub()
	if err := Serve(brokenConn{}, *cfg); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Serve: %v", err)
	}
}

func TestStreamKeepsOrderAndEndsOnGarbage(t *testing.T) {
	cfg, _ := stub("api.github.com")
	good := ask(t, "api.github.com.", dnsmessage.TypeA, nil)
	response := ask(t, "api.github.com.", dnsmessage.TypeA, func(m *dnsmessage.Message) { m.Response = true })
	for _, tc := range []struct {
		what string
		sent []byte
		want int // replies before the end
	}{
		{"two queries", append(frame(good), frame(good)...), 2},
		{"a length beyond the limit", append(frame(good), 0xff, 0xff), 1},
		{"a query that is none", append(frame(response), frame(good)...), 0},
		{"half a frame", frame(good)[:9], 0},
		{"an empty frame", []byte{0, 0}, 0},
	} {
		client, server := pair(t)
		go ServeConn(server, *cfg)
		client.Write(tc.sent) // fails when the server has hung up already
		client.CloseWrite()
		all, err := io.ReadAll(client)
		if err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Fatal(err)
		}
		replies := 0
		for len(all) > 0 {
			n := binary.BigEndian.Uint16(all)
			if _, got := read(t, all[2:2+n]); got != "Success 198.18.1.0" {
				t.Errorf("%s: reply %d: %q", tc.what, replies, got)
			}
			all, replies = all[2+n:], replies+1
		}
		if replies != tc.want {
			t.Errorf("%s: %d replies, want %d", tc.what, replies, tc.want)
		}
		client.Close()
	}
}

// pair returns both ends of a TCP connection.
func pair(t *testing.T) (client *net.TCPConn, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn), server
}

func frame(msg []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(msg))), msg...)
}
