package caller

import (
	"fmt"
	"sync"

	"github.com/omnijail/omnijail/internal/jail"
)

// maxAbandoned is how many undying scouts a uid may have.
const maxAbandoned = 4

// ledger counts the scouts that were killed and did not die: each keeps a thread
// of this process waiting for it.
type ledger struct {
	mu    sync.Mutex
	count map[uint32]int
}

// abandoned belongs to the process, as its children do.
var abandoned = ledger{count: map[uint32]int{}}

func (l *ledger) add(uid uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count[uid]++
}

func (l *ledger) remove(uid uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count[uid]--; l.count[uid] == 0 {
		delete(l.count, uid)
	}
}

func (l *ledger) admit(uid uint32) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.count[uid]; n >= maxAbandoned {
		return &jail.OpenError{
			Code: "stuck_filesystem", Exit: 125,
			Reason: fmt.Sprintf("%d of your earlier requests hang in a file system that does not answer", n),
			Fix:    "make that file system answer again, or unmount it",
		}
	}
	return nil
}
