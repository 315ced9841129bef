package daemon

import (
	"context"
	"testing"

	"github.com/omnijail/omnijail/internal/egressd/wire"
)

// An egress process that is ended for want of jails has not failed, although its
// socket closes like that of one that has: failures are counted.
func TestEndedEgressIsNoFailure(t *testing.T) {
	for name, end := range map[string]struct {
		act  func(p *egressProc, theirs *wire.Conn)
		fail bool
	}{
		"by the daemon": {func(p *egressProc, _ *wire.Conn) { p.end(nil) }, false},
		"by itself":     {func(_ *egressProc, theirs *wire.Conn) { theirs.Close() }, true},
	} {
		t.Run(name, func(t *testing.T) {
			a, b, err := wire.Pair()
			if err != nil {
				t.Fatal(err)
			}
			ours, err1 := wire.NewConn(a)
			theirs, err2 := wire.NewConn(b)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			defer theirs.Close()
			p := newEgressProc(egressKey{Caller: 1}, ours, nil, func() {})
			go p.read(nil)
			end.act(p, theirs)
			<-p.dead
			if p.mu.Lock(); (p.why != nil) != end.fail {
				t.Errorf("why is %v", p.why)
			}
			p.mu.Unlock()
		})
	}
}

// The end of one exec while its jail is handed over costs the user's other jails
// nothing: the process that serves them all has done no wrong.
func TestAnEndedExecDoesNotEndTheEgressProcess(t *testing.T) {
	f := newFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	done := make(chan error)
	go func() {
		_, err := f.p.ask(ctx, func(seq uint32) wire.Message { return wire.Detach{Seq: seq, Jail: foreignJail} })
		done <- err
	}()
	if _, err := f.conn.ReceiveFiles(); err != nil {
		t.Fatal(err)
	}
	if err := f.conn.SendMessage(wire.Answer{Seq: 1}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	select {
	case <-f.killed:
		t.Error("the process was ended")
	default:
	}
}
