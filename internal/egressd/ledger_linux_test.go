package egressd

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egressd/wire"
)

// newTestLedger returns a ledger and the daemon's end of its socket.
func newTestLedger(t *testing.T) (l *ledger, daemon *wire.Conn) {
	t.Helper()
	d, e, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	daemon, _ = wire.NewConn(d)
	conn, _ := wire.NewConn(e)
	t.Cleanup(func() {
		daemon.Close()
		conn.Close()
	})
	return newLedger(conn), daemon
}

// TestS22_NothingGoesOnWithoutItsRecord plays a daemon that does not write.
func TestS22_NothingGoesOnWithoutItsRecord(t *testing.T) {
	l, daemon := newTestLedger(t)

	asked := make(chan wire.Event)
	go func() {
		for {
			f, err := daemon.Receive()
			if err != nil {
				return
			}
			m, _ := wire.DecodeUp(f)
			asked <- m.(wire.Event)
		}
	}()
	try := func(ctx context.Context, answer func(wire.Event)) (string, error) {
		done := make(chan struct{})
		go func() { defer close(done); answer(<-asked) }()
		id, err := l.record(ctx, request("/x"))
		<-done
		return id, err
	}
	ctx := context.Background()
	if id, err := try(ctx, func(e wire.Event) { l.acknowledge([]wire.Written{{Seq: e.Seq, ID: "01020304"}}) }); id != "01020304" || err != nil {
		t.Errorf("written: %q, %v", id, err)
	}
	if _, err := try(ctx, func(e wire.Event) { l.acknowledge([]wire.Written{{Seq: e.Seq}}) }); !errors.Is(err, errNotWritten) {
		t.Errorf("refused by the journal: %v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	if _, err := try(cancelled, func(wire.Event) { cancel() }); !errors.Is(err, errNotWritten) {
		t.Errorf("client gone: %v", err)
	}
	if _, err := try(ctx, func(e wire.Event) {
		l.mu.Lock()
		l.waiting[e.Seq].since = time.Now().Add(-ackTimeout)
		l.mu.Unlock()
		l.expire()
	}); !errors.Is(err, errNotWritten) {
		t.Errorf("not in time: %v", err)
	}
	if _, err := try(ctx, func(e wire.Event) {
		l.acknowledge([]wire.Written{{Seq: e.Seq + 1000, ID: "01020304"}}) // another's
		l.close()
	}); !errors.Is(err, errNotWritten) {
		t.Errorf("daemon gone: %v", err)
	}
	if len(l.waiting) != 0 || len(l.slots) != 0 {
		t.Errorf("%d records and %d slots are left", len(l.waiting), len(l.slots))
	}
}

func TestManyRecordsAreMatchedToTheirOwnAck(t *testing.T) {
	l, daemon := newTestLedger(t)
	const n = 200
	ids := make(map[string]string) // path by id
	go func() {
		var batch []wire.Written
		r := &rig{t: t, conn: daemon}
		for i := range n {
			ev := r.receive().(wire.Event)
			id := strings.Repeat("0", 8-len(ev.Path)) + ev.Path
			batch = append(batch, wire.Written{Seq: ev.Seq, ID: id})
			if len(batch) == 7 || i == n-1 { // out of order, several at once
				l.acknowledge(batch)
				batch = nil
			}
		}
	}()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i := range n {
		wg.Go(func() {
			path := string([]byte{'0' + byte(i/100), '0' + byte(i/10%10), '0' + byte(i%10)})
			id, err := l.record(context.Background(), request(path))
			mu.Lock()
			defer mu.Unlock()
			if err != nil || !strings.HasSuffix(id, path) {
				t.Errorf("record of %s has id %q, %v", path, id, err)
			}
			ids[id] = path
		})
	}
	wg.Wait()
	if len(ids) != n {
		t.Errorf("%d ids", len(ids))
	}
}

// TestS22_AnEndGoesAlongAndIsNotLost: the end of a request goes with the next
// record, and before whatever is answered when its jail is taken back.
func TestS22_AnEndGoesAlongAndIsNotLost(t *testing.T) {
	l, daemon := newTestLedger(t)
	r := &rig{t: t, conn: daemon}
	const many = 3 * wire.MaxEvents
	for range many {
		l.note(request("/end"))
	}
	go l.record(t.Context(), request("/next"))
	paths := map[string]int{}
	for range many + 1 {
		e := r.receive().(wire.Event)
		paths[e.Path]++
		if e.NoAck != (e.Path == "/end") {
			t.Errorf("%+v", e)
		}
	}
	if paths["/end"] != many || paths["/next"] != 1 {
		t.Errorf("got %v", paths)
	}
	l.note(request("/last"))
	l.flush()
	l.conn.SendMessage(wire.Answer{Seq: 1})
	if e, ok := r.receive().(wire.Event); !ok || e.Path != "/last" {
		t.Errorf("before the answer came %+v", e)
	}
}

// watched is an auditor of refused names and the daemon's end of its socket.
func watched(t *testing.T, ctx context.Context) (*notices, *rig) {
	t.Helper()
	l, daemon := newTestLedger(t)
	return (&auditor{ledger: l, jail: testJail}).watch(ctx), &rig{t: t, conn: daemon}
}

// TestRefusedNamesAreToldOnce: a jail that asks for a name again and again fills
// neither the socket nor the journal.
func TestRefusedNamesAreToldOnce(t *testing.T) {
	w, r := watched(t, t.Context())
	w.name("evil.test", audit.CodeNameDenied)
	w.name("evil.test", audit.CodeNameDenied)
	w.name("other.test", audit.CodeNameDenied)
	for _, want := range []string{"evil.test", "other.test"} {
		ev := r.receive().(wire.Event)
		if ev.Name != want || ev.Kind != audit.KindDNS || ev.NoAck {
			t.Errorf("got %+v, want %s", ev, want)
		}
		w.a.ledger.acknowledge([]wire.Written{{Seq: ev.Seq, ID: "01020304"}})
	}
}

// What a jail was refused is told although the jail ends at once.
func TestRefusedNamesAreToldBeforeTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w, r := watched(t, ctx)
	want := []string{"a.test", "b.test", "c.test"}
	for _, name := range want {
		w.name(name, audit.CodeNameDenied)
	}
	first := r.receive().(wire.Event)
	if first.Name != want[0] {
		t.Errorf("first %+v", first)
	}
	cancel() // while the first waits for its acknowledgement
	w.a.ledger.acknowledge([]wire.Written{{Seq: first.Seq, ID: "01020304"}})
	<-w.told
	for _, name := range want[1:] {
		if ev := r.receive().(wire.Event); ev.Name != name {
			t.Errorf("got %+v, want %s", ev, name)
		}
	}
}

// Ever new names do not fill the journal: a window has room for so many.
func TestS22_EverNewNamesAreNotAllWrittenDown(t *testing.T) {
	w, begin, told := &notices{}, time.Now(), 0
	for range 10 * windowNotices {
		if w.within(begin) {
			told++
		}
	}
	if told != windowNotices {
		t.Errorf("%d names are told in one window", told)
	}
	if !w.within(begin.Add(noticeWindow)) {
		t.Error("the next window has no room")
	}
}

// What has no room in the window is not sent, and the last that has is called a flood.
func TestS22_AFullWindowTellsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nothing waits to be acknowledged
	w, r := watched(t, ctx)
	<-w.told
	w.since, w.count = time.Now().Add(time.Hour), windowNotices-1 // a window that does not end here
	for _, name := range []string{"last.test", "more.test"} {
		w.record(ctx, notice{kind: audit.KindDNS, code: audit.CodeNameDenied, name: name})
	}
	w.a.ledger.note(w.a.refused(notice{kind: audit.KindDNS, code: audit.CodeNameDenied, name: "end.test"}))
	if ev := r.receive().(wire.Event); ev.Name != "last.test" || ev.Code != audit.CodeFlood {
		t.Errorf("the last in the window: %+v", ev)
	}
	if ev := r.receive().(wire.Event); ev.Name != "end.test" {
		t.Errorf("behind the window: %+v", ev)
	}
}
