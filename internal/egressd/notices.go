package egressd

import (
	"context"
	"time"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egressd/wire"
)

// A jail can have names and packets refused faster than anyone can write them down,
// and as many as would fill its user's share of the journal. What is behind the
// queue is dropped, a thing is told once until seenNotices others were, and of new
// ones windowNotices are told in a noticeWindow, the last of them as a flood.
const (
	noticeQueue   = 64
	seenNotices   = 1024
	windowNotices = 200
	noticeWindow  = 10 * time.Second
)

// notice is something that was refused and that nobody waits for to be recorded. All
// of it but name is one of a few words.
type notice struct {
	kind   audit.Kind
	code   audit.Code
	method string
	name   string
}

// notices are recorded in order, on a goroutine of its own.
type notices struct {
	a     *auditor
	queue chan *notice // pointers, because the queue is nearly always empty
	seen  map[notice]bool
	since time.Time     // the window's begin
	count int           // of notices told in it
	told  chan struct{} // closed when the last one has been sent
}

// watch starts to record what tell is told. It ends with ctx, but not before what
// was told by then has been sent: the owner of a command that failed for want of a
// name, and ended at once, is to read why.
func (a *auditor) watch(ctx context.Context) *notices {
	w := &notices{a: a, queue: make(chan *notice, noticeQueue), seen: map[notice]bool{}, told: make(chan struct{})}
	go w.run(ctx)
	return w
}

func (w *notices) run(ctx context.Context) {
	defer close(w.told)
	for {
		select {
		case n := <-w.queue:
			w.record(ctx, *n)
		case <-ctx.Done():
			for len(w.queue) > 0 {
				w.record(ctx, *<-w.queue)
			}
			return
		}
	}
}

// record sends a notice once. It waits for the acknowledgement, so that no jail
// runs ahead of the journal, but not at the jail's end. Nothing hangs on the
// outcome: what was refused stays refused.
func (w *notices) record(ctx context.Context, n notice) {
	if !w.first(n) || !w.within(time.Now()) {
		return
	}
	if w.count == windowNotices {
		n.code = audit.CodeFlood
	}
	switch {
	case ctx.Err() != nil:
		w.a.ledger.note(w.a.refused(n))
	default:
		w.a.ledger.record(context.WithoutCancel(ctx), w.a.refused(n))
	}
}

func (w *notices) first(n notice) bool {
	if w.seen[n] {
		return false
	}
	if len(w.seen) == seenNotices {
		clear(w.seen)
	}
	w.seen[n] = true
	return true
}

// within counts a notice and reports whether the window has room for it.
func (w *notices) within(now time.Time) bool {
	if now.Sub(w.since) >= noticeWindow {
		w.since, w.count = now, 0
	}
	if w.count == windowNotices {
		return false
	}
	w.count++
	return true
}

// tell takes what was refused. It never waits.
func (w *notices) tell(n notice) {
	select {
	case w.queue <- &n:
	default:
	}
}

// name takes a name that the DNS stub has refused.
func (w *notices) name(name string, code audit.Code) {
	w.tell(notice{kind: audit.KindDNS, code: code, name: name})
}

func (a *auditor) refused(n notice) wire.Event {
	return wire.Event{Jail: a.jail, Kind: n.kind, Decision: audit.Deny, Code: n.code,
		Method: n.method, Name: n.name, Rule: -1, Nearest: -1, Binding: -1}
}
