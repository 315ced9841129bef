package egressd

import (
	"context"
	"time"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egressd/wire"
)

// A jail can ask for names faster than anyone can write them down, and for as
// many as would fill its user's share of the journal. What is behind the queue is
// dropped, a name is told once until seenNames others were, and of new ones
// windowNames are told in a nameWindow, the last of them as a flood.
const (
	nameQueue   = 64
	seenNames   = 1024
	windowNames = 200
	nameWindow  = 10 * time.Second
)

type refusedName struct {
	name string
	code audit.Code
}

// names records refused names in order, on a goroutine of its own.
type names struct {
	a     *auditor
	queue chan *refusedName // pointers, because the queue is nearly always empty
	seen  map[refusedName]bool
	since time.Time     // the window's begin
	count int           // of names told in it
	told  chan struct{} // closed when the last one has been sent
}

// watchNames starts to record what tell is told. It ends with ctx, but not before
// what was told by then has been sent: the owner of a command that failed for
// want of a name, and ended at once, is to read why.
func (a *auditor) watchNames(ctx context.Context) *names {
	w := &names{a: a, queue: make(chan *refusedName, nameQueue), seen: map[refusedName]bool{}, told: make(chan struct{})}
	go w.run(ctx)
	return w
}

func (w *names) run(ctx context.Context) {
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

// record sends a name once. It waits for the acknowledgement, so that no jail
// runs ahead of the journal, but not at the jail's end. Nothing hangs on the
// outcome: the name stays without an address.
func (w *names) record(ctx context.Context, n refusedName) {
	if !w.first(n) || !w.within(time.Now()) {
		return
	}
	if w.count == windowNames {
		n.code = audit.CodeFlood
	}
	switch {
	case ctx.Err() != nil:
		w.a.ledger.note(w.a.refused(n))
	default:
		w.a.ledger.record(context.WithoutCancel(ctx), w.a.refused(n))
	}
}

func (w *names) first(n refusedName) bool {
	if w.seen[n] {
		return false
	}
	if len(w.seen) == seenNames {
		clear(w.seen)
	}
	w.seen[n] = true
	return true
}

// within counts a name and reports whether the window has room for it.
func (w *names) within(now time.Time) bool {
	if now.Sub(w.since) >= nameWindow {
		w.since, w.count = now, 0
	}
	if w.count == windowNames {
		return false
	}
	w.count++
	return true
}

// tell takes a name that the DNS stub has refused. It never waits.
func (w *names) tell(name string, code audit.Code) {
	select {
	case w.queue <- &refusedName{name, code}:
	default:
	}
}

func (a *auditor) refused(n refusedName) wire.Event {
	return wire.Event{Jail: a.jail, Kind: audit.KindDNS, Decision: audit.Deny, Code: n.code,
		Name: n.name, Rule: -1, Nearest: -1, Binding: -1}
}
