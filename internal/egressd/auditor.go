package egressd

import (
	"context"
	"math"

	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/mitm"
)

var _ mitm.Auditor = (*auditor)(nil)

// auditor is the ledger seen by one jail's proxy and DNS stub.
type auditor struct {
	ledger *ledger
	jail   string
}

// Open records e and returns after the daemon has written it.
func (a *auditor) Open(ctx context.Context, e mitm.Event) (string, error) {
	return a.ledger.record(ctx, a.event("", e))
}

// Done records the end of the request whose first record has this id.
func (a *auditor) Done(id string, e mitm.Event) { a.ledger.note(a.event(id, e)) }

func (a *auditor) event(id string, e mitm.Event) wire.Event {
	w := wire.Event{
		Jail: a.jail, Generation: e.Generation, ID: id, Kind: e.Kind, Decision: e.Decision, Code: e.Code,
		Status: uint16(min(max(e.Status, 0), math.MaxUint16)), BytesIn: e.BytesIn, BytesOut: e.BytesOut, Millis: e.Millis,
		Rule: int32(e.Rule), Nearest: int32(e.Nearest), Binding: int32(e.Binding),
		Name: e.Name, Method: e.Method, Path: e.Path, Address: e.Address,
	}
	if !e.Authority.IsZero() {
		w.Authority = e.Authority.String()
	}
	return w
}
