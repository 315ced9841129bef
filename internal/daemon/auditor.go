package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/omnijail/omnijail/internal/audit"
)

// auditor hands records to the journal. What an egress process states goes out
// together, as far as it is there at once, and is acknowledged by the thread that has
// read it: each hand-over between threads would cost a request more than the write.
type auditor struct {
	journal *audit.Journal
	log     *slog.Logger
	waits   atomic.Int64

	mu     sync.RWMutex // read-held while writing, so that close waits for it
	closed bool
}

func newAuditor(j *audit.Journal, log *slog.Logger) *auditor {
	return &auditor{journal: j, log: log}
}

var errAuditClosed = errors.New("the journal is closed")

// write writes records. One whose Seq is 0 afterwards was not written, and what it
// stands for must not happen; the error is then not nil, but may be of others.
func (a *auditor) write(recs []audit.Record) ([]audit.Record, error) {
	a.waits.Add(int64(len(recs)))
	defer a.waits.Add(-int64(len(recs)))
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.closed {
		return make([]audit.Record, len(recs)), errAuditClosed
	}
	done, err := a.journal.Append(recs)
	if err != nil {
		a.log.Error("audit: record not written, request refused", "err", err)
	}
	return done, err
}

// own writes a record of the daemon's own.
func (a *auditor) own(rec audit.Record) (audit.Record, error) {
	done, err := a.write([]audit.Record{rec})
	switch {
	case errors.Is(err, errAuditClosed):
		return rec, err
	case err != nil && done[0].Seq == 0:
		return rec, fmt.Errorf("audit: %w", err)
	}
	return done[0], nil
}

// waiting counts the records that are not written yet.
func (a *auditor) waiting() int { return int(a.waits.Load()) }

// close waits for what is being written. What comes later is refused.
func (a *auditor) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
}
