package egressd

import (
	"context"
	"errors"
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
)

// ledger sends events and matches the daemon's acknowledgements to them.
type ledger struct {
	conn  *wire.Conn
	slots chan struct{}
	gone  chan struct{}
	once  sync.Once

	mu      sync.Mutex
	seq     uint32
	waiting map[uint32]chan string
}

func newLedger(conn *wire.Conn) *ledger {
	return &ledger{
		conn: conn, slots: make(chan struct{}, maxOutstanding), gone: make(chan struct{}),
		waiting: map[uint32]chan string{},
	}
}

// record sends e and returns the id of its record once the daemon has written it.
func (l *ledger) record(ctx context.Context, e wire.Event) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, ackTimeout)
	defer cancel()
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return "", errNotWritten
	case <-l.gone:
		return "", errNotWritten
	}
	seq, acked := l.expect()
	defer l.forget(seq)
	e.Seq = seq
	if err := l.conn.SendMessage(e); err != nil {
		return "", errors.Join(errNotWritten, err)
	}
	select {
	case id := <-acked:
		if id == "" {
			return "", errNotWritten
		}
		return id, nil
	case <-ctx.Done():
		return "", errNotWritten
	case <-l.gone:
		return "", errNotWritten
	}
}

// note sends e without waiting.
func (l *ledger) note(e wire.Event) {
	e.NoAck = true
	l.conn.SendMessage(e) // fails only when the daemon is gone, and then so are we
}

func (l *ledger) expect() (uint32, <-chan string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	acked := make(chan string, 1)
	l.waiting[l.seq] = acked
	return l.seq, acked
}

func (l *ledger) forget(seq uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, seq)
}

func (l *ledger) acknowledge(records []wire.Written) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range records {
		if acked, ok := l.waiting[w.Seq]; ok {
			delete(l.waiting, w.Seq)
			acked <- w.ID
		}
	}
}

func (l *ledger) close() { l.once.Do(func() { close(l.gone) }) }
