package mitm

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/omnijail/omnijail/internal/fair"
)

// spent is a jail's share of a process in which another has work. The jail has several
// things under way, and has booked work until the time that is returned.
func spent(t *testing.T) (s *fair.Share, until time.Time) {
	const processors = 8 // of which a jail has one
	m := fair.New(processors, func() time.Duration { return 0 })
	s, other := m.Join(), m.Join()
	other.Wait(t.Context(), 0)
	s.Begin()
	s.Begin()
	s.Wait(t.Context(), 4*time.Second)
	return s, time.Now().Add(4*time.Second - time.Second) // less what may be done at once, and a measurement
}

// TestA75_AFloodWaitsForItsShare has a jail ask when its share is spent: whatever it
// asks for is worked on no sooner than its share allows.
func TestA75_AFloodWaitsForItsShare(t *testing.T) {
	for name, ask := range map[string]func(*testing.T, *rig){
		"a head": func(t *testing.T, r *rig) {
			c, _ := pipeTo(t, r, "api.test:80")
			answered(t, c, "GET /no HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n")
		},
		"a handshake": func(t *testing.T, r *rig) {
			c, jail := net.Pipe()
			go r.proxy.handshake(r.proxy.ctx, jail, mustAuthority(t, "api.test:443"))
			tc := tls.Client(c, &tls.Config{RootCAs: r.jailRoots(), ServerName: "api.test"})
			if err := tc.Handshake(); err != nil {
				t.Error(err)
			}
			c.Close()
		},
		"a request": func(_ *testing.T, r *rig) { newExchange(&session{p: r.proxy}, nil, nil) },
		"a connection": func(t *testing.T, r *rig) {
			l := &oneConn{conn: &net.TCPConn{}}
			if err := r.proxy.Serve(&onceThen{l, r.proxy.Close}); err != nil {
				t.Error(err)
			}
		},
		"a piece of a reply": func(_ *testing.T, r *rig) {
			c, jail := net.Pipe()
			go io.Copy(io.Discard, jail)
			s := r.proxy.newHTTP1(c, session{p: r.proxy})
			reply := &reply{s: s, resp: &http.Response{Body: io.NopCloser(strings.NewReader("x"))}, coding: codedLength}
			reply.writeBody()
			c.Close()
		},
		"a stream": func(_ *testing.T, r *rig) {
			var sent bytes.Buffer
			sent.WriteString(http2.ClientPreface)
			http2.NewFramer(&sent, nil).WriteHeaders(http2.HeadersFrameParam{StreamID: 1})
			c, jail := net.Pipe()
			go jail.Write(sent.Bytes())
			newMeter(c, func() {}, r.proxy.afford).Read(make([]byte, 1<<10))
			c.Close()
		},
		"bytes that are not read": func(_ *testing.T, r *rig) {
			a, from := net.Pipe()
			go from.Close()
			carry(nil, a, r.proxy.heed)
		},
		"a dial": func(t *testing.T, r *rig) {
			r.proxy.now().Dial.dial(t.Context(), mustAuthority(t, "127.0.0.1:1"), nil) // which the guard refuses
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				share, until := spent(t)
				r := newRig(t, options{
					rules:  []string{"GET api.test/ok", "GET http://api.test/ok"},
					config: func(c *Config) { c.Share = share },
					up:     func(u *Upstream) { u.Share = share },
				})
				ask(t, r)
				if early := time.Until(until); early > 0 {
					t.Errorf("%v too early", early)
				}
			})
		})
	}
}

// answered sends a request and waits for the answer.
func answered(t *testing.T, c net.Conn, request string) {
	io.WriteString(c, request)
	if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
		t.Error(err)
	}
}

// onceThen is a listener of one connection that closes its proxy when it has no more.
type onceThen struct {
	net.Listener
	then func() error
}

func (l *onceThen) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		go l.then()
		return nil, net.ErrClosed
	}
	return c, nil
}

// A jail with one thing under way is nobody's flood, and one that is alone has all.
func TestOneRequestWaitsForNobody(t *testing.T) {
	for name, join := range map[string]func(context.Context, *fair.Meter) *fair.Share{
		"alone": func(ctx context.Context, m *fair.Meter) *fair.Share {
			s := m.Join()
			s.Begin()
			s.Begin()
			s.Wait(ctx, time.Hour)
			return s
		},
		"one after the other": func(ctx context.Context, m *fair.Meter) *fair.Share {
			m.Join().Wait(ctx, 0)
			s := m.Join()
			s.Wait(ctx, time.Hour)
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				share := join(t.Context(), fair.New(8, func() time.Duration { return 0 }))
				r := newRig(t, options{rules: []string{"GET http://api.test/ok"}, config: func(c *Config) { c.Share = share }})
				began := time.Now()
				c, _ := pipeTo(t, r, "api.test:80")
				for range 10 {
					answered(t, c, "GET /no HTTP/1.1\r\nHost: api.test\r\n\r\n")
				}
				if took := time.Since(began); took > 0 {
					t.Errorf("it waited %v", took)
				}
			})
		})
	}
}
