package mitm

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// explicitTo is pipeTo for the proxy's own port.
func explicitTo(t *testing.T, r *rig) (jail net.Conn, over chan struct{}) {
	t.Helper()
	jail, inner := net.Pipe()
	over = make(chan struct{})
	go func() {
		defer close(over)
		r.proxy.explicit(r.proxy.ctx, pipeConn{inner, netip.MustParseAddrPort("127.0.0.1:3128")})
		inner.Close()
	}()
	t.Cleanup(func() { jail.Close() })
	return jail, over
}

// connected has asked for a tunnel to api.test and got it.
func connected(t *testing.T, r *rig) (net.Conn, chan struct{}) {
	c, over := explicitTo(t, r)
	io.WriteString(c, connectTo("api.test:443"))
	resp, err := http.ReadResponse(bufio.NewReaderSize(c, 16), &http.Request{Method: http.MethodConnect})
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("CONNECT: %v %v", resp, err)
	}
	return c, over
}

func direct(t *testing.T, r *rig) (net.Conn, chan struct{}) { return pipeTo(t, r, "api.test:443") }

// secured is what open gives, with TLS done.
func secured(open func(*testing.T, *rig) (net.Conn, chan struct{}), protocol string) func(*testing.T, *rig) (net.Conn, chan struct{}) {
	return func(t *testing.T, r *rig) (net.Conn, chan struct{}) {
		c, over := open(t, r)
		tc := tls.Client(c, &tls.Config{RootCAs: r.jailRoots(), ServerName: "api.test", NextProtos: []string{protocol}})
		if err := tc.Handshake(); err != nil {
			t.Fatal(err)
		}
		return tc, over
	}
}

// http2Frame is one frame by hand.
func http2Frame(kind, flags byte, stream uint32, payload string) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	b = append(b, flags)
	return string(binary.BigEndian.AppendUint32(b, stream)) + payload
}

const http2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// TestA72_SlowClientsInTunnels: the limits hold inside TLS and inside a CONNECT as
// they do outside, for either protocol.
func TestA72_SlowClientsInTunnels(t *testing.T) {
	settings := http2Preface + http2Frame(4, 0, 0, "")
	for _, tt := range []struct {
		name string
		open func(*testing.T, *rig) (net.Conn, chan struct{})
		say  string
		want time.Duration
	}{
		{"silence behind a CONNECT", connected, "", firstByteTimeout},
		{"half a handshake behind a CONNECT", connected, "\x16\x03\x01\x00\x80", handshakeTimeout},
		{"silence in TLS", secured(direct, "http/1.1"), "", idleTimeout},
		{"half a head in TLS", secured(direct, "http/1.1"), "GET / HTTP/1.1\r\nHost: api.te", headerTimeout},
		{"idle in TLS", secured(direct, "http/1.1"), "GET /no HTTP/1.1\r\nHost: api.test\r\n\r\n", idleTimeout},
		{"silence in TLS behind a CONNECT", secured(connected, "http/1.1"), "", idleTimeout},
		{"half a head in TLS behind a CONNECT", secured(connected, "http/1.1"), "GET / HTTP/1.1\r\nHost: api.te", headerTimeout},
		{"idle in TLS behind a CONNECT", secured(connected, "http/1.1"), "GET /no HTTP/1.1\r\nHost: api.test\r\n\r\n", idleTimeout},
		{"HTTP/2 without a word", secured(direct, "h2"), "", headerTimeout},
		{"HTTP/2, half a preface", secured(direct, "h2"), http2Preface[:10], headerTimeout},
		{"HTTP/2, idle", secured(direct, "h2"), settings, idleTimeout},
		{"HTTP/2, half a head", secured(direct, "h2"), settings + http2Frame(1, 0, 1, "\x82"), headerTimeout},
		{"HTTP/2, half a head behind a CONNECT", secured(connected, "h2"), settings + http2Frame(1, 0, 1, "\x82"), headerTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, options{rules: []string{"GET api.test/ok"}, config: func(c *Config) { c.Admit = func(string) error { return nil } }})
				c, over := tt.open(t, r)
				began := time.Now()
				var talking sync.WaitGroup
				talking.Go(func() { io.WriteString(c, tt.say) })
				talking.Go(func() { io.Copy(io.Discard, c) })
				<-over
				if got := time.Since(began); got < tt.want || got > tt.want+2*time.Second {
					t.Errorf("cut off after %v, want %v", got, tt.want)
				}
				c.Close()
				talking.Wait()
			})
		})
	}
}
