package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/internal/jail"
)

// fake is an egress process in the hands of an attacker: the other end of the
// socket, and what the daemon believes of it.
type fake struct {
	m      *Manager
	p      *egressProc
	conn   *wire.Conn
	killed chan struct{}
	jail   *liveJail
	ended  chan string // reasons for which the jail was ended
}

func newFake(t *testing.T) *fake {
	t.Helper()
	ours, theirs, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := wire.NewConn(ours)
	if err != nil {
		t.Fatal(err)
	}
	peer, err := wire.NewConn(theirs)
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{m: testManager(t), conn: peer, killed: make(chan struct{}), ended: make(chan string, 1)}
	once := make(chan struct{}, 1)
	once <- struct{}{}
	f.p = newEgressProc(egressKey{Caller: 1000}, conn, nil, func() {
		select {
		case <-once:
			close(f.killed)
		default:
		}
	})
	f.jail = testJail(t, func(reason string) { f.ended <- reason })
	f.jail.proc.Store(f.p)
	f.p.jails[f.jail.id.String()] = f.jail
	go f.p.read(f.m)
	t.Cleanup(func() {
		peer.Close()
		<-f.p.dead
	})
	return f
}

func testManager(t *testing.T) *Manager {
	t.Helper()
	j, err := audit.Open(audit.Options{File: filepath.Join(t.TempDir(), "audit.jsonl")})
	if err != nil {
		t.Fatal(err)
	}
	m := &Manager{cfg: Config{Journal: j, Log: slog.New(slog.DiscardHandler)}, auditor: newAuditor(j, slog.New(slog.DiscardHandler)), metrics: newMetrics()}
	t.Cleanup(func() {
		m.auditor.close()
		j.Close()
	})
	return m
}

func testJail(t *testing.T, end func(string)) *liveJail {
	t.Helper()
	rule, err := egress.ParseRule("GET api.github.com/**")
	if err != nil {
		t.Fatal(err)
	}
	rule.Origin = "/etc/omnijail/policies/default.yaml:4"
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	spec := &jail.Spec{
		Policy: jail.PolicyRef{Name: "default"}, Rules: []egress.Rule{rule},
		Bindings: []creds.Binding{{Name: "github", Sources: []creds.Source{{Kind: creds.SourceFile, File: "/x"}}}},
	}
	j := &liveJail{metrics: newMetrics(), id: jail.NewID(), owner: 1000, ctx: ctx, end: end}
	j.rule(spec)
	return j
}

// rule puts a Spec in force in a jail of no Manager's.
func (j *liveJail) rule(spec *jail.Spec) {
	j.secrets, j.specs = nil, map[uint32]*jail.Spec{0: spec}
	first, err := j.next(&Plan{Spec: spec})
	if err != nil {
		panic(err)
	}
	j.admit(first)
	j.policy.Store(first)
}

const foreignJail = "j0123456789abcdef"

// Whatever a taken-over egress process says about a jail that is not its own, or
// about rules, bindings and questions that do not exist, ends it and gives it
// nothing.
func TestS11_ALyingEgressProcessIsEnded(t *testing.T) {
	event := func(change func(*wire.Event)) func(own string) wire.Message {
		return func(own string) wire.Message {
			e := wire.Event{
				Jail: own, Seq: 1, Kind: audit.KindRequest, Decision: audit.Allow, Code: audit.CodeAllowed,
				Rule: -1, Nearest: -1, Binding: -1, Method: "GET", Authority: "api.github.com:443", Path: "/user",
			}
			change(&e)
			return e
		}
	}
	for name, message := range map[string]func(own string) wire.Message{
		"event of a foreign jail":    event(func(e *wire.Event) { e.Jail = foreignJail }),
		"event with a foreign rule":  event(func(e *wire.Event) { e.Rule = 1 }),
		"event with a foreign near":  event(func(e *wire.Event) { e.Nearest = 7 }),
		"event with a foreign creds": event(func(e *wire.Event) { e.Binding = 1 }),
		"a foreign event among others": func(own string) wire.Message {
			e := event(func(e *wire.Event) { e.Jail = foreignJail })(own).(wire.Event)
			return wire.Events{e, event(func(*wire.Event) {})(own).(wire.Event)}
		},
		"outcome of a foreign jail": func(string) wire.Message { return wire.Outcome{Jail: foreignJail} },
		"outcome of nothing":        func(own string) wire.Message { return wire.Outcome{Jail: own, Generation: 1} },
		"outcome beyond bindings":   func(own string) wire.Message { return wire.Outcome{Jail: own, Binding: 1} },
		"refresh of a foreign jail": func(string) wire.Message { return wire.Refresh{Jail: foreignJail} },
		"refresh beyond bindings":   func(own string) wire.Message { return wire.Refresh{Jail: own, Binding: 1} },
		"gone of a foreign jail":    func(string) wire.Message { return wire.Gone{Jail: foreignJail} },
		"answer to nothing":         func(string) wire.Message { return wire.Answer{Seq: 99} },
		"the daemon's own words":    func(own string) wire.Message { return wire.Detach{Seq: 1, Jail: own} },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			if err := f.conn.SendMessage(message(f.jail.id.String())); err != nil {
				t.Fatal(err)
			}
			<-f.killed
			<-f.p.dead
			if reason := <-f.ended; reason == "" {
				t.Error("its jail goes on without a network")
			}
			if recs, err := f.m.cfg.Journal.Query(audit.Filter{All: true}); err != nil || len(recs) != 0 {
				t.Errorf("the journal holds %v, %v", recs, err)
			}
		})
	}
}

// A request leaves only after its record: the acknowledgement carries the id that
// the journal has.
func TestRecordIsAcknowledgedWithItsID(t *testing.T) {
	f := newFake(t)
	f.conn.SendMessage(wire.Event{
		Jail: f.jail.id.String(), Seq: 7, Kind: audit.KindRequest, Decision: audit.Allow, Code: audit.CodeAllowed,
		Rule: 0, Nearest: -1, Binding: 0, Method: "GET", Authority: "api.github.com:443", Path: "/user",
	})
	ack := receiveAck(t, f.conn)
	if len(ack) != 1 || ack[0].Seq != 7 || ack[0].ID == "" {
		t.Fatalf("acknowledged %+v", ack)
	}
	rec, err := f.m.cfg.Journal.Find(ack[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if rec.UID != 1000 || rec.Jail != f.jail.id.String() || rec.Rule != "GET api.github.com/**" ||
		rec.Origin != "/etc/omnijail/policies/default.yaml:4" || rec.Credential != "github" || rec.By != "egress" {
		t.Errorf("record %+v", rec)
	}
}

// What comes together is written and acknowledged together, each record under its
// own jail and number; the ends of requests are not acknowledged.
func TestRecordsThatComeTogether(t *testing.T) {
	f := newFake(t)
	var all wire.Events
	for i := range uint32(wire.MaxEvents) {
		all = append(all, wire.Event{
			Jail: f.jail.id.String(), Seq: i, NoAck: i%2 == 0, Kind: audit.KindRequest, Decision: audit.Allow, Code: audit.CodeAllowed,
			Rule: 0, Nearest: -1, Binding: -1, Method: "GET", Authority: "api.github.com:443", Path: fmt.Sprint("/", i),
		})
	}
	if err := f.conn.SendMessage(all); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for seen < len(all)/2 {
		for _, w := range receiveAck(t, f.conn) {
			rec, err := f.m.cfg.Journal.Find(w.ID)
			if err != nil || rec.Path != fmt.Sprint("/", w.Seq) || w.Seq%2 == 0 {
				t.Fatalf("%d is acknowledged by %+v, %v", w.Seq, rec, err)
			}
			seen++
		}
	}
	if recs, err := f.m.cfg.Journal.Query(audit.Filter{All: true}); err != nil || len(recs) != len(all) {
		t.Errorf("%d records, %v", len(recs), err)
	}
}

// A record that cannot be written is acknowledged without an id, and the request
// does not leave.
func TestUnwrittenRecordIsRefused(t *testing.T) {
	f := newFake(t)
	f.m.cfg.Journal.Close()
	f.conn.SendMessage(wire.Event{
		Jail: f.jail.id.String(), Seq: 8, Kind: audit.KindRequest, Decision: audit.Allow, Code: audit.CodeAllowed,
		Rule: -1, Nearest: -1, Binding: -1, Method: "GET", Authority: "api.github.com:443", Path: "/user",
	})
	if ack := receiveAck(t, f.conn); len(ack) != 1 || ack[0].Seq != 8 || ack[0].ID != "" {
		t.Errorf("acknowledged %+v", ack)
	}
}

// What was under way when a jail was taken back is no offence, and nothing of it
// may happen.
func TestLateMessagesOfAJailTakenBack(t *testing.T) {
	f := newFake(t)
	f.p.mu.Lock()
	delete(f.p.jails, f.jail.id.String())
	f.p.former = append(f.p.former, f.jail.id.String())
	f.p.mu.Unlock()
	f.conn.SendMessage(wire.Outcome{Jail: f.jail.id.String()})
	f.conn.SendMessage(wire.Event{
		Jail: f.jail.id.String(), Seq: 9, Kind: audit.KindRequest, Decision: audit.Allow, Code: audit.CodeAllowed,
		Rule: -1, Nearest: -1, Binding: -1, Method: "GET", Authority: "api.github.com:443", Path: "/user",
	})
	if ack := receiveAck(t, f.conn); len(ack) != 1 || ack[0].Seq != 9 || ack[0].ID != "" {
		t.Errorf("acknowledged %+v", ack)
	}
	if recs, _ := f.m.cfg.Journal.Query(audit.Filter{All: true}); len(recs) != 0 {
		t.Errorf("the journal holds %+v", recs)
	}
}

// A process that ends by itself takes its jails' network, not the daemon's calm.
func TestS12_AJailWhoseEgressDiedEndsWithTheReason(t *testing.T) {
	f := newFake(t)
	f.conn.Close()
	<-f.p.dead
	if reason := <-f.ended; reason != "the egress process of this jail ended, so it has no network any more" {
		t.Errorf("ended with %q", reason)
	}
	if _, err := f.p.ask(t.Context(), func(seq uint32) wire.Message { return wire.Detach{Seq: seq, Jail: foreignJail} }); !errors.Is(err, errEgressGone) {
		t.Errorf("asking a dead process: %v", err)
	}
}

func receiveAck(t *testing.T, c *wire.Conn) []wire.Written {
	t.Helper()
	frame, err := c.ReceiveFiles()
	if err != nil {
		t.Fatal(err)
	}
	m, err := wire.DecodeDown(frame)
	if err != nil {
		t.Fatal(err)
	}
	ack, ok := m.(wire.Ack)
	if !ok {
		t.Fatalf("got %T", m)
	}
	return ack.Records
}

// However often a taken-over process asks for a value again, its source is asked
// once, a minute after the last time, and nothing waits for it twice.
func TestS11_ARefreshIsAskedForOnce(t *testing.T) {
	s := &secret{gen: 3, asked: time.Now()}
	if _, ok := s.due(2); ok {
		t.Error("an earlier generation is asked for again")
	}
	if wait, ok := s.due(3); !ok || wait <= 0 {
		t.Errorf("the first refresh waits %v, %v", wait, ok)
	}
	for range 1000 {
		if _, ok := s.due(3); ok {
			t.Fatal("a refresh that is on its way is asked for again")
		}
	}
	if _, ok := new(secret).due(0); ok {
		t.Error("a value that was never asked for is asked for again")
	}
}
