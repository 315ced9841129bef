package egressd

import (
	"context"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egressd/wire"
)

// A jail can ask for names faster than anyone can write them down. What is behind
// the queue is dropped, and a name is told once until seenNames others were.
const (
	nameQueue = 64
	seenNames = 1024
)

type refusedName struct {
	name string
	code audit.Code
}

// watchNames returns the function that the DNS stub tells names without an
// address. They are recorded in order, on a goroutine that ends with ctx.
func (a *auditor) watchNames(ctx context.Context) func(name string, code audit.Code) {
	queue := make(chan refusedName, nameQueue)
	go func() {
		seen := map[refusedName]bool{}
		for {
			select {
			case <-ctx.Done():
				return
			case n := <-queue:
				if seen[n] {
					continue
				}
				if len(seen) == seenNames {
					clear(seen)
				}
				seen[n] = true
				a.ledger.record(ctx, a.refused(n)) // nothing hangs on it: the name stays without an address
			}
		}
	}()
	return func(name string, code audit.Code) {
		select {
		case queue <- refusedName{name, code}:
		default:
		}
	}
}

func (a *auditor) refused(n refusedName) wire.Event {
	return wire.Event{Jail: a.jail, Kind: audit.KindDNS, Decision: audit.Deny, Code: n.code,
		Name: n.name, Rule: -1, Nearest: -1, Binding: -1}
}
