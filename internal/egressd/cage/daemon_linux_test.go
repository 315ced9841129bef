package cage

import (
	"os"
	"testing"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/netns"
)

// daemon plays the daemon's part: it acknowledges every event and keeps the rest.
type daemon struct {
	t        testing.TB
	conn     *wire.Conn
	answers  chan wire.Answer
	outcomes chan wire.Outcome
	events   chan wire.Event
}

func newDaemon(t testing.TB, end *os.File) *daemon {
	t.Helper()
	conn, err := wire.NewConn(end)
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{t: t, conn: conn, answers: make(chan wire.Answer, 8), outcomes: make(chan wire.Outcome, 8), events: make(chan wire.Event, 64)}
	t.Cleanup(func() { conn.Close() })
	go d.listen()
	return d
}

func (d *daemon) listen() {
	defer close(d.events)
	defer close(d.answers)
	defer close(d.outcomes)
	for {
		f, err := d.conn.Receive()
		if err != nil {
			return
		}
		m, err := wire.DecodeUp(f)
		if err != nil {
			d.t.Error(err)
			return
		}
		switch m := m.(type) {
		case wire.Answer:
			d.answers <- m
		case wire.Outcome:
			d.outcomes <- m
		case wire.Event:
			d.take(m)
		case wire.Events:
			for _, e := range m {
				d.take(e)
			}
		}
	}
}

func (d *daemon) take(e wire.Event) {
	if !e.NoAck {
		d.conn.SendMessage(wire.Ack{Records: []wire.Written{{Seq: e.Seq, ID: "0a0b0c0d"}}})
	}
	d.events <- e
}

func (d *daemon) send(m wire.Message) {
	d.t.Helper()
	if err := d.conn.SendMessage(m); err != nil {
		d.t.Fatal(err)
	}
}

func (d *daemon) answer() wire.Answer {
	d.t.Helper()
	a, ok := <-d.answers
	if !ok || a.Status != wire.OK {
		d.t.Fatalf("answer: %v, still there: %v", a.Status, ok)
	}
	return a
}

func (d *daemon) sealed(v any) *os.File {
	d.t.Helper()
	f, err := wire.Seal("document", v)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { f.Close() })
	return f
}

func (d *daemon) hello(c wire.Config) {
	d.t.Helper()
	d.send(wire.Hello{Seq: 1, Config: d.sealed(c)})
	d.answer()
}

func (d *daemon) attach(spec wire.Spec) (*netns.Net, wire.Answer) {
	d.t.Helper()
	ns, err := netns.New(netns.Steered)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { ns.Close() })
	s := ns.Sockets()
	d.send(wire.Attach{Seq: 2, Jail: jailID, Spec: d.sealed(spec), TCP: s.TCP, UDP: s.UDP})
	a := d.answer()
	ns.Forget()
	return ns, a
}

// secret delivers value through a pipe, as a scout would.
func (d *daemon) secret(binding uint16, generation uint64, value string) {
	d.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		d.t.Fatal(err)
	}
	defer r.Close()
	d.send(wire.Secret{Jail: jailID, Binding: binding, Generation: generation, By: wire.ByPipe, Value: r})
	w.WriteString(value + "\n")
	w.Close()
	if o, ok := <-d.outcomes; !ok || o.Result != wire.Got {
		d.t.Fatalf("outcome %+v, still there: %v", o, ok)
	}
}

// event returns the next event of this kind.
func (d *daemon) event(k audit.Kind) wire.Event {
	d.t.Helper()
	for e := range d.events {
		if e.Kind == k {
			return e
		}
	}
	d.t.Fatalf("the egress process ended before an event of kind %s", k)
	return wire.Event{}
}
