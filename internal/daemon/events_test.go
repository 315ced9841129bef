package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/omnijail/omnijail/api"
)

// gate is a client that does not read until it is opened.
type gate struct {
	open chan struct{}
	mu   sync.Mutex
	buf  bytes.Buffer
}

func (g *gate) Write(b []byte) (int, error) {
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.buf.Write(b)
}
func (*gate) SetWriteDeadline(time.Time) error { return nil }

func (g *gate) lines(t *testing.T) (out []api.Event) {
	t.Helper()
	d := json.NewDecoder(&g.buf)
	for d.More() {
		var e api.Event
		if err := d.Decode(&e); err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// A client that does not read loses denials, never the exit, and never holds up
// the jail whose denials they are.
func TestSlowClientLosesDenialsNotTheExit(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	e := newEvents(g)
	for range 10 * maxQueuedEvents {
		e.send(api.Event{Denied: &api.Denied{ID: "00000000"}}) // returns although nobody reads
	}
	close(g.open)
	e.finish(api.Exit{Code: 3})
	lines := g.lines(t)
	if last := lines[len(lines)-1]; last.Exit == nil || last.Exit.Code != 3 {
		t.Errorf("the last line is %+v", last)
	}
	if len(lines) > 2*maxQueuedEvents+1 {
		t.Errorf("%d lines were kept", len(lines))
	}
	e.send(api.Event{Note: &api.Note{Text: "after the end"}})
	if n := len(g.lines(t)); n != 0 {
		t.Errorf("%d lines after the exit", n)
	}
}

// broken is a client that went away.
type broken struct{}

func (broken) Write([]byte) (int, error)        { return 0, errors.New("gone") }
func (broken) SetWriteDeadline(time.Time) error { return nil }

func TestFinishReturnsForAClientThatIsGone(t *testing.T) {
	e := newEvents(broken{})
	e.send(api.Event{Note: &api.Note{Text: "x"}})
	e.finish(api.Exit{})
	e.flush()
}
