package daemon

import (
	"errors"
	"sync"

	"github.com/omnijail/omnijail/internal/egressd/wire"
)

// maxOwed is how many acknowledgements may wait for an egress process. It is far
// above the requests that one has under way; who has more does not read.
const maxOwed = 1 << 16

var errDoesNotRead = errors.New("it does not read what it is told")

// owed are the acknowledgements that one egress process had no room for. Who reads
// what it says also answers what it was asked, and so leaves them here and does not
// wait for a process that a jail may have taken over.
type owed struct {
	mu      sync.Mutex
	records []wire.Written
	more    chan struct{}
}

func newOwed() *owed { return &owed{more: make(chan struct{}, 1)} }

// add takes acknowledgements, or says that too many are waiting.
func (o *owed) add(records []wire.Written) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.records)+len(records) > maxOwed {
		return errDoesNotRead
	}
	o.records = append(o.records, records...)
	select {
	case o.more <- struct{}{}:
	default:
	}
	return nil
}

// take returns what one frame carries of them, nothing when none is waiting.
func (o *owed) take() []wire.Written {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := min(len(o.records), wire.MaxBatch)
	out := o.records[:n:n]
	if o.records = o.records[n:]; len(o.records) == 0 {
		o.records = nil
	}
	return out
}

// acknowledge sends a process what it is owed until it is dead.
func (p *egressProc) acknowledge() {
	for {
		select {
		case <-p.owed.more:
		case <-p.dead:
			return
		}
		for records := p.owed.take(); len(records) > 0; records = p.owed.take() {
			if err := p.conn.SendMessage(wire.Ack{Records: records}); err != nil {
				p.end(err)
				return
			}
		}
	}
}
