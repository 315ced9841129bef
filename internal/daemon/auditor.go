package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egressd/wire"
)

// auditor is the one writer of the journal. Records queue up while a write is
// under way and go out together; each is acknowledged to its egress process
// after the write, and only then does the request leave the node.
type auditor struct {
	journal *audit.Journal
	queue   chan pending
	done    chan struct{}
	log     *slog.Logger

	mu     sync.RWMutex // read-held while queueing, so that close never meets a sender
	closed bool
}

type pending struct {
	rec     audit.Record
	proc    *egressProc // to acknowledge to; nil for records of the daemon's own
	seq     uint32
	written func(audit.Record, error) // after the write; may be nil
}

func newAuditor(j *audit.Journal, log *slog.Logger) *auditor {
	a := &auditor{journal: j, queue: make(chan pending, wire.MaxBatch), done: make(chan struct{}), log: log}
	go a.run()
	return a
}

func (a *auditor) run() {
	defer close(a.done)
	for first := range a.queue {
		a.write(a.batch(first))
	}
}

// batch takes what has queued up behind first, without waiting for more.
func (a *auditor) batch(first pending) []pending {
	b := []pending{first}
	for len(b) < wire.MaxBatch {
		select {
		case p, ok := <-a.queue:
			if !ok {
				return b
			}
			b = append(b, p)
		default:
			return b
		}
	}
	return b
}

func (a *auditor) write(b []pending) {
	recs := make([]audit.Record, len(b))
	for i, p := range b {
		recs[i] = p.rec
	}
	done, err := a.journal.Append(recs)
	if err != nil {
		a.log.Error("audit: record not written, request refused", "err", err)
	}
	acks := map[*egressProc][]wire.Written{}
	for i, p := range b {
		rec, failed := p.rec, err
		if i < len(done) && done[i].Seq != 0 { // an error may be of others in the batch
			rec, failed = done[i], nil
		}
		if p.written != nil {
			p.written(rec, failed)
		}
		if p.proc == nil {
			continue
		}
		w := wire.Written{Seq: p.seq}
		if failed == nil {
			w.ID = rec.ID
		}
		acks[p.proc] = append(acks[p.proc], w)
	}
	for proc, records := range acks {
		if err := proc.owed.add(records); err != nil {
			proc.end(err)
		}
	}
}

// egress queues what an egress process states about one of its jails. The
// daemon fills in whose it is; only numbers and opaque strings are taken over.
func (a *auditor) egress(p *egressProc, j *liveJail, e wire.Event) error {
	rec, err := j.record(e)
	if err != nil {
		return err
	}
	item := pending{rec: rec, written: func(r audit.Record, err error) {
		if err == nil {
			j.saw(r)
		}
	}}
	if !e.NoAck {
		item.proc, item.seq = p, e.Seq
	}
	return a.put(item)
}

var errAuditClosed = errors.New("the journal is closed")

// put queues one record, waiting while the queue is full.
func (a *auditor) put(p pending) error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.closed {
		return errAuditClosed
	}
	a.queue <- p
	return nil
}

// own queues a record of the daemon's own and waits until it is written.
func (a *auditor) own(rec audit.Record) (audit.Record, error) {
	type result struct {
		rec audit.Record
		err error
	}
	ch := make(chan result, 1)
	if err := a.put(pending{rec: rec, written: func(r audit.Record, err error) { ch <- result{r, err} }}); err != nil {
		return rec, err
	}
	res := <-ch
	if res.err != nil {
		return rec, fmt.Errorf("audit: %w", res.err)
	}
	return res.rec, nil
}

// waiting counts the records that are queued and in no write yet.
func (a *auditor) waiting() int { return len(a.queue) }

// close writes what is queued and ends. What comes later is refused.
func (a *auditor) close() {
	a.mu.Lock()
	a.closed = true
	close(a.queue)
	a.mu.Unlock()
	<-a.done
}
