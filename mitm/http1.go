package mitm

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/omnijail/omnijail/internal/egress"
)

const (
	writeBuffer  = 4 << 10
	farewellTime = 500 * time.Millisecond // for a client to read an answer before the connection is cut
)

var readBuffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, maxHead) }}

// http1Conn is a client connection that speaks HTTP/1.x. Requests are served one
// after the other, each judged alone. It is the client of each of them.
type http1Conn struct {
	session
	conn net.Conn
	br   *bufio.Reader
	bw   *bufio.Writer
	cork *cork // below TLS; nil without it
	last *body // of the latest request that had one

	mu       sync.Mutex
	replying bool // nothing but the reply may be written any more
}

// serveHTTP1 runs conn to its end.
func (p *Proxy) serveHTTP1(ctx context.Context, conn net.Conn, scheme egress.Scheme, a egress.Authority) {
	s := p.newHTTP1(conn, session{p: p, scheme: scheme, authority: a})
	for s.next(ctx) {
	}
	s.release() // not after a panic: what the request began may look at the buffer still
}

func (p *Proxy) newHTTP1(conn net.Conn, to session) *http1Conn {
	s := &http1Conn{
		session: to,
		conn:    conn,
		br:      readBuffers.Get().(*bufio.Reader),
		bw:      bufio.NewWriterSize(conn, writeBuffer),
	}
	s.br.Reset(conn)
	if tc, ok := conn.(*tls.Conn); ok {
		s.cork, _ = tc.NetConn().(*cork)
	}
	return s
}

// release gives the connection's buffer back.
func (s *http1Conn) release() {
	if s.last == nil || s.last.left() {
		// Only now does no transport read from it any more: a buffer that came
		// back too early would carry one jail's bytes into another's request.
		s.br.Reset(nil)
		readBuffers.Put(s.br)
	}
}

// next serves one request and reports whether another may follow.
func (s *http1Conn) next(ctx context.Context) bool {
	req, no, ok := s.read()
	if !ok {
		return false
	}
	s.p.share.Begin()
	defer s.p.share.End()
	x := newExchange(&s.session, s, req)
	if no != nil {
		return x.refuse(ctx, no)
	}
	return x.run(ctx)
}

// read reads the next request, nil with a refusal when it is none. It is not ok
// when the client went away, or took too long for a head.
func (s *http1Conn) read() (req *http.Request, no *refusal, ok bool) {
	s.mu.Lock()
	s.replying = false
	s.mu.Unlock()
	s.conn.SetReadDeadline(time.Now().Add(idleTimeout))
	if _, err := s.br.Peek(1); err != nil {
		return nil, nil, false
	}
	s.conn.SetReadDeadline(time.Now().Add(headerTimeout))
	req, no, err := readRequest(s.br)
	if err != nil {
		return nil, nil, false
	}
	s.conn.SetReadDeadline(time.Time{})
	return req, no, true
}

var errReplied = errors.New("the reply has begun")

// proceed sends 100 Continue, unless the final reply was faster.
func (s *http1Conn) proceed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.replying {
		return errReplied
	}
	if _, err := s.bw.WriteString("HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
		return err
	}
	return s.bw.Flush()
}

func (s *http1Conn) beginReply() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replying = true
}

// farewell ends our direction and gives the client a moment to read the answer.
// What it still sends is not read: a refused body is not worth the bytes.
func (s *http1Conn) farewell() {
	conn := s.conn
	if tc, ok := conn.(*tls.Conn); ok {
		_ = tc.CloseWrite()
		conn = tc.NetConn()
	}
	if w, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = w.CloseWrite()
	}
	s.p.sleep(farewellTime)
}

// body is how the transport reads req's body from the connection.
func (s *http1Conn) body(req *http.Request) *body {
	b := newBody(req, s.conn)
	if expects100(req) {
		b.proceed = s.proceed
	}
	s.last = b
	return b
}

// reply sends an upstream's answer.
func (s *http1Conn) reply(req *http.Request, resp *http.Response) (n uint64, again bool) {
	r := &reply{s: s, resp: resp, coding: codingOf(req, resp)}
	closes := req.Close || r.coding == codedClose || s.p.ctx.Err() != nil
	s.beginReply()
	err := r.writeHead(req, closes)
	if err == nil {
		err = r.writeBody()
	}
	return r.n, err == nil && !closes
}

// refuse sends an answer of ours. A body that was not read stays unread, and ends
// the connection: so does a head that could not be read.
func (s *http1Conn) refuse(a answer, req *http.Request, unread bool) (again bool) {
	s.beginReply()
	closes := unread || req.Close || s.p.ctx.Err() != nil
	if err := a.write(s.bw, req, closes); err != nil {
		return false
	}
	if unread {
		s.farewell()
	}
	return !closes
}

// settle reports whether the body was read to its end, so that the next request
// begins where the connection is read next.
func (s *http1Conn) settle(b *body) bool {
	if b == nil || b.finished() {
		return true
	}
	s.farewell()
	return false
}

// expects100 reports whether the client waits for us before it sends its body.
func expects100(req *http.Request) bool {
	return req.ProtoAtLeast(1, 1) && req.ContentLength != 0 && req.Header.Get("Expect") != ""
}
