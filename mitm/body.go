package mitm

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/omnijail/omnijail/internal/audit"
)

// While a body is owed the client must send stallBytes in each stallTime.
const (
	stallBytes = 1 << 10
	stallTime  = 30 * time.Second
)

// deadlines bounds reads in time.
type deadlines interface{ SetReadDeadline(time.Time) error }

// body is a request body on its way from the jail. The transport reads it on a
// goroutine of its own, also after the upstream has answered.
type body struct {
	src      io.Reader          // of net/http: ends with the body, not with the connection
	conn     deadlines          // of the connection or stream that src reads from
	length   int64              // -1 when chunked
	limit    int64              // bytes, 0 for none
	proceed  func() error       // sends 100 Continue before the first read; nil when not asked for
	inspect  func([]byte) error // sees every byte; nil when nobody looks
	trailers func() error       // called at the end, when the trailers are there
	closed   chan struct{}      // the transport will not read again
	once     sync.Once

	n        atomic.Int64 // bytes read
	ended    atomic.Bool
	deadline time.Time
	owed     int64 // value of n at which the deadline moves
}

func newBody(req *http.Request, conn deadlines) *body {
	return &body{src: req.Body, conn: conn, length: req.ContentLength, closed: make(chan struct{})}
}

// Read reads for the transport. A *refusal ends the request.
func (b *body) Read(p []byte) (n int, err error) {
	defer func() {
		if recover() != nil {
			n, err = 0, badRequest("the body cannot be read")
		}
	}()
	if b.proceed != nil {
		if err := b.proceed(); err != nil {
			return 0, err
		}
		b.proceed = nil
	}
	b.pace()
	n, err = b.src.Read(p)
	total := b.n.Add(int64(n))
	if b.limit > 0 && total > b.limit {
		return 0, refuseTooLarge(b.limit)
	}
	if n > 0 && b.inspect != nil {
		if no := b.inspect(p[:n]); no != nil {
			return 0, no
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		if no := b.end(); no != nil {
			return 0, no
		}
	case err != nil && isTimeout(err):
		err = refuse(http.StatusRequestTimeout, audit.CodeBadRequest, "the request's body came slower than 1 KiB in 30 s")
	}
	return n, err
}

// pace moves the deadline when enough has come since it was set.
func (b *body) pace() {
	n := b.n.Load()
	if !b.deadline.IsZero() && n < b.owed {
		return
	}
	b.owed = n + stallBytes
	// A deadline that is almost the new one can stay: moving it costs a lock.
	if now := time.Now(); b.deadline.Sub(now) < stallTime-time.Second {
		b.deadline = now.Add(stallTime)
		b.conn.SetReadDeadline(b.deadline)
	}
}

// end notes that the whole body was read. The transport may ask more than once.
func (b *body) end() error {
	if b.ended.Load() {
		return nil
	}
	b.conn.SetReadDeadline(time.Time{})
	if b.trailers != nil {
		if err := b.trailers(); err != nil {
			return err
		}
	}
	b.ended.Store(true)
	return nil
}

// Close says that the transport is done. It does not drain: the rest of a body
// that nobody wanted is dropped with the connection.
func (b *body) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

// left reports whether nobody will read from the connection for this body again.
func (b *body) left() bool {
	select {
	case <-b.closed:
		return true
	default:
		return b.ended.Load()
	}
}

// finished reports whether the next request can be read behind this body. The
// transport gets a moment to see the end of a body that is all there.
func (b *body) finished() bool {
	if b.ended.Load() {
		return true
	}
	t := time.NewTimer(50 * time.Millisecond)
	defer t.Stop()
	select {
	case <-b.closed:
	case <-t.C:
	}
	return b.ended.Load()
}

func refuseTooLarge(limit int64) *refusal {
	return refuse(http.StatusRequestEntityTooLarge, audit.CodeBodyTooLarge,
		fmt.Sprintf("the request's body is larger than the rule allows (%d bytes)", limit))
}
