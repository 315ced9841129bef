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

// session is one client connection that speaks HTTP/1.x. Requests are served one
// after the other, each judged alone.
type session struct {
	p         *Proxy
	conn      net.Conn
	br        *bufio.Reader
	bw        *bufio.Writer
	scheme    egress.Scheme
	authority egress.Authority
	last      *body // of the latest request that had one

	mu       sync.Mutex
	replying bool // nothing but the reply may be written any more
}

// serve runs conn to its end.
func (p *Proxy) serve(ctx context.Context, conn net.Conn, scheme egress.Scheme, a egress.Authority) {
	s := &session{
		p: p, conn: conn, scheme: scheme, authority: a,
		br: readBuffers.Get().(*bufio.Reader),
		bw: bufio.NewWriterSize(conn, writeBuffer),
	}
	s.br.Reset(conn)
	for s.next(ctx) {
		s.replying = false
	}
	if s.last == nil || s.last.left() {
		// Only now does no transport read from it any more: a buffer that came
		// back too early would carry one jail's bytes into another's request.
		s.br.Reset(nil)
		readBuffers.Put(s.br)
	}
}

// next serves one request and reports whether another may follow.
func (s *session) next(ctx context.Context) bool {
	s.conn.SetReadDeadline(time.Now().Add(idleTimeout))
	if _, err := s.br.Peek(1); err != nil {
		return false
	}
	s.conn.SetReadDeadline(time.Now().Add(headerTimeout))
	req, no, err := readRequest(s.br)
	if err != nil {
		return false // it went away, or took too long for a head
	}
	s.conn.SetReadDeadline(time.Time{})
	x := newExchange(s, req)
	if no != nil {
		return x.refuse(ctx, no)
	}
	return x.run(ctx)
}

var errReplied = errors.New("the reply has begun")

// proceed sends 100 Continue, unless the final reply was faster.
func (s *session) proceed() error {
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

func (s *session) beginReply() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replying = true
}

// farewell ends our direction and gives the client a moment to read the answer.
// What it still sends is not read: a refused body is not worth the bytes.
func (s *session) farewell() {
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

// expects100 reports whether the client waits for us before it sends its body.
func expects100(req *http.Request) bool {
	return req.ProtoAtLeast(1, 1) && req.ContentLength != 0 && req.Header.Get("Expect") != ""
}
