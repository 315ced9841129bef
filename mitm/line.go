package mitm

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const lineBuffer = tlsRecord

// line is a connection to an upstream that carries requests of HTTP/1 without a body,
// one after the other. Request and reply pass on the goroutine of who asks: the
// standard transport, which takes what has a body, has two of its own for each
// connection, and handing a request over costs more than sending it.
type line struct {
	conn net.Conn        // of TLS, or bare
	raw  *ahead          // below TLS; nil without it
	bare syscall.RawConn // the connection of TCP below; nil: it cannot be looked at
	br   *bufio.Reader
	out  bytes.Buffer

	limit    int64 // bytes that may still be read
	got      int64 // bytes that were read
	deadline time.Time
	idle     time.Time // since when, once it has carried a request
}

// newLine makes a line of conn, which lies on bare, with raw between them where it is
// one of TLS.
func newLine(conn net.Conn, raw *ahead, bare net.Conn) *line {
	l := &line{conn: conn, raw: raw}
	if c, ok := bare.(syscall.Conn); ok {
		l.bare, _ = c.SyscallConn()
	}
	l.br = bufio.NewReaderSize(readerFunc(l.read), lineBuffer)
	return l
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

var errLongHead = errors.New("the reply's head is too large")

func (l *line) read(p []byte) (int, error) {
	if l.limit <= 0 {
		return 0, errLongHead
	}
	p = p[:min(int64(len(p)), l.limit)]
	var n int
	var err error
	if l.raw != nil {
		n, err = l.raw.fill(l.conn, p)
	} else {
		n, err = l.conn.Read(p)
	}
	l.limit -= int64(n)
	l.got += int64(n)
	return n, err
}

// quiet reports whether an idle line can carry another request: the upstream has
// neither closed it nor said anything unasked.
func (l *line) quiet() bool {
	if l.bare == nil || l.br.Buffered() > 0 || l.raw != nil && len(l.raw.has) > 0 {
		return false
	}
	var answer error
	err := l.bare.Read(func(fd uintptr) bool {
		var b [1]byte
		_, _, answer = unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		return true
	})
	return err == nil && answer == unix.EAGAIN
}

// exchange sends req and reads the head of its reply.
func (l *line) exchange(req *http.Request) (*http.Response, error) {
	l.out.Reset()
	if err := req.Write(&l.out); err != nil {
		return nil, err
	}
	if _, err := l.conn.Write(l.out.Bytes()); err != nil {
		return nil, err
	}
	l.limit = maxReplyHeader
	l.expect(time.Now().Add(replyTimeout))
	resp, err := finalReply(l.br, req)
	if err != nil {
		return nil, err
	}
	l.limit = math.MaxInt64
	if resp.ContentLength < 0 || resp.ContentLength > int64(l.br.Buffered()) {
		l.expect(time.Time{}) // a body may take its time
	}
	return resp, nil
}

// expect moves the deadline of reads, if it is not nearly there.
func (l *line) expect(t time.Time) {
	if t.Equal(l.deadline) || !t.IsZero() && t.Sub(l.deadline) < time.Minute && !l.deadline.IsZero() {
		return
	}
	l.deadline = t
	l.conn.SetReadDeadline(t)
}

// widen and narrow are those of ahead, where there is one.
func (l *line) widen() {
	if l.raw != nil {
		l.raw.widen()
	}
}

func (l *line) narrow() (clean bool) { return l.raw == nil || l.raw.narrow() }

// lineBody is the body of a reply. The line is free with its end.
type lineBody struct {
	io.Reader
	line *line
	over func(whole bool) // called once
	done bool
}

func (b *lineBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil {
		b.end(errors.Is(err, io.EOF))
	} else {
		b.line.widen()
	}
	return n, err
}

// Close does not drain: the rest of a reply that nobody wants ends with its line.
func (b *lineBody) Close() error {
	b.end(false)
	return nil
}

func (b *lineBody) end(whole bool) {
	if !b.done {
		b.done = true
		b.over(whole)
	}
}
