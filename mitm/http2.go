package mitm

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

// The limits of HTTP/2 towards a jail. A stream's body waits in memory until the
// upstream takes it, so the windows are what bounds that memory.
const (
	maxStreams       = 100       // at once on one connection
	maxJailStreams   = 512       // at once on all connections of a jail
	connWindow       = 1 << 20   // bytes of request bodies that wait, per connection
	streamWindow     = 256 << 10 // of these, per stream
	maxFrame         = 64 << 10
	headerListMargin = 8 << 10 // a head this much too large still gets an answer of ours
)

// noLog takes what the protocol's implementation has to say: it may quote a jail.
var noLog = log.New(io.Discard, "", 0)

// serveHTTP2 runs a connection whose client chose HTTP/2. The frames are read by
// the standard implementation; what it makes of them is judged like a request of
// HTTP/1.
func (p *Proxy) serveHTTP2(ctx context.Context, tc *tls.Conn, a egress.Authority) {
	at := destination(tc)
	c := &http2Conn{session: session{p: p, scheme: egress.HTTPS, authority: a}, at: at}
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true) // the encryption is around the meter
	over := make(chan struct{})
	srv := &http.Server{
		Handler:                      c,
		DisableGeneralOptionsHandler: true,
		Protocols:                    &protocols,
		ReadHeaderTimeout:            headerTimeout, // until the preface; the meter knows about heads
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHead + headerListMargin,
		ErrorLog:                     noLog,
		BaseContext:                  func(net.Listener) context.Context { return ctx },
		ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateClosed {
				close(over)
			}
		},
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          maxStreams,
			MaxReadFrameSize:              maxFrame,
			MaxReceiveBufferPerConnection: connWindow,
			MaxReceiveBufferPerStream:     streamWindow,
			CountError: func(kind string) {
				if code := malformed(kind); code != "" {
					p.note(at, a, code)
				}
			},
		},
	}
	_ = srv.Serve(&oneConn{conn: newMeter(tc, func() { p.note(at, a, audit.CodeFlood) }, p.afford)}) // which ends at once
	<-over
	c.drain()
}

// oneConn is a listener of one connection, which is not the listener's to close.
type oneConn struct{ conn net.Conn }

func (l *oneConn) Accept() (net.Conn, error) {
	c := l.conn
	l.conn = nil
	if c == nil {
		return nil, io.EOF
	}
	return c, nil
}

func (l *oneConn) Addr() net.Addr { return nil }
func (l *oneConn) Close() error   { return nil }

// malformed sorts an error of the protocol by what the owner is told. No code:
// it is what any client may run into.
func malformed(kind string) audit.Code {
	switch kind {
	case "closed": // data that was on its way when its stream ended
		return ""
	case "over_max_streams", "over_max_streams_race", "too_many_early_resets":
		return audit.CodeFlood
	}
	return audit.CodeBadRequest
}

// http2Conn is a client connection that speaks HTTP/2.
type http2Conn struct {
	session
	at netip.AddrPort

	mu      sync.Mutex
	closed  bool           // the connection has ended: no stream begins any more
	streams sync.WaitGroup // requests that are not over
}

// enter reports whether a stream may begin. The implementation may start one when
// its connection has just ended.
func (c *http2Conn) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.streams.Add(1)
	}
	return !c.closed
}

// drain waits until the last stream is over.
func (c *http2Conn) drain() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.streams.Wait()
}

// ServeHTTP serves one stream. A panic ends this stream and no other.
func (c *http2Conn) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if !c.enter() {
		return
	}
	defer c.streams.Done()
	st := &http2Stream{w: w, control: http.NewResponseController(w), heed: c.p.heed}
	defer st.end()
	defer func() {
		if recover() != nil {
			c.p.note(c.at, c.authority, audit.CodeBadRequest)
			st.broken = true
		}
	}()
	c.next(st, req)
}

// next judges and carries the request of one stream.
func (c *http2Conn) next(st *http2Stream, req *http.Request) {
	ctx := req.Context()
	c.p.share.Begin()
	defer c.p.share.End()
	x := newExchange(&c.session, st, req)
	defer c.p.streams.Add(-1)
	if c.p.streams.Add(1) > maxJailStreams {
		x.refuse(ctx, refuse(http.StatusTooManyRequests, audit.CodeFlood, "too many requests at once"))
		return
	}
	if no := gateStream(req); no != nil {
		x.refuse(ctx, no)
		return
	}
	x.run(ctx)
}
