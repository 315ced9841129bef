package scout

import (
	"io"
	"sync"
)

// ring keeps the last bytes of a stream for readers that come and go. Whoever
// writes never waits for a reader: one that falls too far behind loses what was
// overwritten.
type ring struct {
	mu   sync.Mutex
	cond *sync.Cond
	buf  []byte
	end  int64 // bytes ever written
	over bool  // nothing follows
}

func newRing(size int) *ring {
	r := &ring{buf: make([]byte, size)}
	r.cond = sync.NewCond(&r.mu)
	return r
}

// Write never fails.
func (r *ring) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for left := b; len(left) > 0; {
		n := copy(r.buf[r.end%int64(len(r.buf)):], left)
		left = left[n:]
		r.end += int64(n)
	}
	r.cond.Broadcast()
	return len(b), nil
}

func (r *ring) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	r.cond.Broadcast()
}

// from returns a reader that begins at most back bytes before the end. Where it
// does not follow it ends where the stream is now.
func (r *ring) from(back int, follow bool) *ringReader {
	r.mu.Lock()
	defer r.mu.Unlock()
	rd := &ringReader{ring: r, at: max(0, r.end-int64(min(back, len(r.buf)))), last: -1}
	if !follow {
		rd.last = r.end
	}
	return rd
}

type ringReader struct {
	ring *ring
	at   int64
	last int64 // where it ends; -1 where the stream does
	gone bool  // nobody reads any more
}

// close ends a Read that waits, and every later one.
func (rd *ringReader) close() {
	rd.ring.mu.Lock()
	defer rd.ring.mu.Unlock()
	rd.gone = true
	rd.ring.cond.Broadcast()
}

// Read waits for bytes. It returns io.EOF at the end.
func (rd *ringReader) Read(b []byte) (int, error) {
	r := rd.ring
	r.mu.Lock()
	defer r.mu.Unlock()
	for rd.at >= r.end && !r.over && rd.last < 0 && !rd.gone {
		r.cond.Wait()
	}
	rd.at = max(rd.at, r.end-int64(len(r.buf)))
	end := r.end
	if rd.last >= 0 {
		end = min(end, rd.last)
	}
	if rd.at >= end || rd.gone {
		return 0, io.EOF
	}
	from := rd.at % int64(len(r.buf))
	n := copy(b, r.buf[from:min(from+end-rd.at, int64(len(r.buf)))])
	rd.at += int64(n)
	return n, nil
}
