package egressd

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/omnijail/omnijail/internal/egressd/wire"
)

// errNotWritten says that the daemon could not, or did not in time, write a
// record. What the record describes must not happen.
var errNotWritten = errors.New("the audit record was not written")

const (
	maxOutstanding = 1024 // records that wait at once; the next ones queue up behind
	ackTimeout     = 10 * time.Second
	// noteDelay is how long the end of a request waits for a record to go along
	// with: a packet of its own would wake the daemon once more for each request.
	noteDelay = 5 * time.Millisecond
)

// ledger sends events and matches the daemon's acknowledgements to them. What
// several requests have to say at once goes out in one packet.
type ledger struct {
	conn  *wire.Conn
	slots chan struct{}

	mu      sync.Mutex
	seq     uint32
	waiting map[uint32]*waiter
	queue   []wire.Event
	in, out uint64     // events that were queued, and that were sent
	sending bool       // somebody sends what is queued, to its end
	sent    *sync.Cond // out or sending has changed
	delayed bool       // a timer will send what is queued
	watched bool       // a timer looks for those who wait too long
	gone    bool
}

// waiter waits for one acknowledgement. It is used again.
type waiter struct {
	since time.Time
	id    chan string // the record's; empty when it was not written
}

var waiters = sync.Pool{New: func() any { return &waiter{id: make(chan string, 1)} }}

func newLedger(conn *wire.Conn) *ledger {
	l := &ledger{conn: conn, slots: make(chan struct{}, maxOutstanding), waiting: map[uint32]*waiter{}}
	l.sent = sync.NewCond(&l.mu)
	return l
}

// record sends e and returns the id of its record once the daemon has written it.
func (l *ledger) record(ctx context.Context, e wire.Event) (string, error) {
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return "", errNotWritten
	}
	w := waiters.Get().(*waiter)
	seq, ok := l.post(e, w)
	if !ok {
		return "", errNotWritten
	}
	select {
	case id := <-w.id:
		waiters.Put(w)
		if id == "" {
			return "", errNotWritten
		}
		return id, nil
	case <-ctx.Done():
		l.mu.Lock()
		delete(l.waiting, seq) // w may have been told meanwhile: it is not used again
		l.mu.Unlock()
		return "", errNotWritten
	}
}

// post queues e for w, which is told what became of it, and sees that it is sent.
func (l *ledger) post(e wire.Event, w *waiter) (seq uint32, ok bool) {
	l.mu.Lock()
	if l.gone {
		l.mu.Unlock()
		return 0, false
	}
	l.seq++
	e.Seq = l.seq
	w.since = time.Now()
	l.waiting[e.Seq] = w
	l.enqueue(e)
	if !l.watched {
		l.watched = true
		time.AfterFunc(ackTimeout, l.expire)
	}
	ours := !l.sending
	l.sending = true
	l.mu.Unlock()
	if ours {
		runtime.Gosched() // other requests that are about to ask go along
		l.send()
	}
	return e.Seq, true
}

func (l *ledger) enqueue(e wire.Event) {
	l.queue = append(l.queue, e)
	l.in++
}

// note sends e without waiting, and not at once.
func (l *ledger) note(e wire.Event) {
	e.NoAck = true
	l.mu.Lock()
	defer l.mu.Unlock()
	l.enqueue(e)
	switch {
	case l.sending || l.delayed:
	case len(l.queue) >= wire.MaxEvents:
		l.sending = true
		go l.send()
	default:
		l.delayed = true
		time.AfterFunc(noteDelay, func() {
			l.mu.Lock()
			l.delayed = false
			l.mu.Unlock()
			l.flush()
		})
	}
}

// flush returns when all that was queued by now has been sent.
func (l *ledger) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for last := l.in; l.out < last; {
		if l.sending {
			l.sent.Wait()
			continue
		}
		l.sending = true
		l.mu.Unlock()
		l.send()
		l.mu.Lock()
	}
}

// send sends what is queued until nothing is. It is called by the one who has set
// sending.
func (l *ledger) send() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) > 0 {
		n := wire.Fitting(l.queue)
		now := l.queue[:n:n]
		l.queue = l.queue[n:]
		l.mu.Unlock()
		var m wire.Message = wire.Events(now)
		if n == 1 {
			m = now[0]
		}
		if err := l.conn.SendMessage(m); err != nil {
			l.refuse(now)
		}
		l.mu.Lock()
		l.out += uint64(n)
		l.sent.Broadcast()
	}
	l.queue, l.sending = nil, false
	l.sent.Broadcast()
}

// refuse tells those who wait for events that they were not sent.
func (l *ledger) refuse(events []wire.Event) {
	var records []wire.Written
	for _, e := range events {
		records = append(records, wire.Written{Seq: e.Seq})
	}
	l.acknowledge(records)
}

func (l *ledger) acknowledge(records []wire.Written) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range records {
		if w, ok := l.waiting[r.Seq]; ok {
			delete(l.waiting, r.Seq)
			w.id <- r.ID
		}
	}
}

// expire tells those who have waited for ackTimeout that nothing came.
func (l *ledger) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for seq, w := range l.waiting {
		if time.Since(w.since) >= ackTimeout {
			delete(l.waiting, seq)
			w.id <- ""
		}
	}
	if l.watched = len(l.waiting) > 0; l.watched {
		time.AfterFunc(ackTimeout/10, l.expire)
	}
}

// close tells all who wait that the daemon is gone.
func (l *ledger) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
	for seq, w := range l.waiting {
		delete(l.waiting, seq)
		w.id <- ""
	}
}
