package daemon

import (
	"errors"
	"testing"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egressd/wire"
)

// A process that sends records and never reads their acknowledgements does not
// hold up the journal, which is everybody's.
func TestS22_AProcessThatDoesNotReadHoldsNobodyUp(t *testing.T) {
	f := newFake(t)
	e := wire.Event{
		Jail: f.jail.id.String(), Kind: audit.KindRequest, Decision: audit.Allow, Code: audit.CodeAllowed,
		Rule: 0, Nearest: -1, Binding: -1, Method: "GET", Authority: "api.github.com:443", Path: "/user",
	}
	const many = 4000 // more than its socket holds acknowledgements
	for i := range uint32(many) {
		e.Seq = i + 1
		if err := f.conn.SendMessage(e); err != nil {
			t.Fatal(err)
		}
		// Another user's record: the journal's writer is at everybody's service all along.
		if _, err := f.m.auditor.own(audit.Record{Kind: audit.KindExec, UID: 2000}); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-f.killed:
		t.Error("the process was ended because the journal waited for it")
	default:
	}
	for acknowledged := 0; acknowledged < many; { // and when it reads, nothing is lost
		acknowledged += len(receiveAck(t, f.conn))
	}
}

func TestOwedIsBounded(t *testing.T) {
	o := newOwed()
	if err := o.add(make([]wire.Written, maxOwed)); err != nil {
		t.Fatal(err)
	}
	if err := o.add(make([]wire.Written, 1)); !errors.Is(err, errDoesNotRead) {
		t.Errorf("more than %d: %v", maxOwed, err)
	}
	if n := len(o.take()); n != wire.MaxBatch {
		t.Errorf("a frame of %d", n)
	}
}
