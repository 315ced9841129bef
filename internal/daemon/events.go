package daemon

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/omnijail/omnijail/api"
)

// events is the daemon's half of an exec's connection: JSON lines to the client.
// A client that does not read loses denials and notes, never the exit, and never
// holds up a jail.
type events struct {
	w    deadlineWriter
	mu   sync.Mutex
	cond *sync.Cond
	list []api.Event
	over bool
	lost bool // the client has gone
	done chan struct{}
}

type deadlineWriter interface {
	io.Writer
	SetWriteDeadline(time.Time) error
}

const (
	maxQueuedEvents = 256
	// eventTimeout bounds how long the last lines wait for a client that does
	// not read.
	eventTimeout = 10 * time.Second
)

func newEvents(w deadlineWriter) *events {
	e := &events{w: w, done: make(chan struct{})}
	e.cond = sync.NewCond(&e.mu)
	go e.run()
	return e
}

func (e *events) send(ev api.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	droppable := ev.Denied != nil || ev.Note != nil
	if e.over || droppable && len(e.list) >= maxQueuedEvents {
		return
	}
	e.list = append(e.list, ev)
	e.cond.Signal()
}

func (e *events) note(text, hint string) {
	e.send(api.Event{Note: &api.Note{Text: text, Hint: hint}})
}

// finish sends the exit and waits until it has been written or given up.
func (e *events) finish(exit api.Exit) {
	e.send(api.Event{Exit: &exit})
	e.mu.Lock()
	e.over = true
	e.cond.Signal()
	e.mu.Unlock()
	<-e.done
}

// heard reports, after finish, whether the client was still there.
func (e *events) heard() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.lost
}

// flush waits until what was sent so far has been written, so that a message
// with a descriptor can follow in order.
func (e *events) flush() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.list) > 0 && !e.over {
		e.cond.Wait()
	}
}

func (e *events) run() {
	defer close(e.done)
	for {
		e.mu.Lock()
		for len(e.list) == 0 && !e.over {
			e.cond.Wait()
		}
		batch, over := e.list, e.over
		e.mu.Unlock()
		var buf []byte
		for _, ev := range batch {
			line, err := json.Marshal(ev)
			if err == nil {
				buf = append(append(buf, line...), '\n')
			}
		}
		e.w.SetWriteDeadline(time.Now().Add(eventTimeout))
		_, err := e.w.Write(buf)
		e.mu.Lock()
		e.list = e.list[len(batch):]
		rest := len(e.list)
		e.lost = err != nil
		e.over = e.over || e.lost
		e.cond.Broadcast()
		e.mu.Unlock()
		if err != nil || over && rest == 0 {
			return
		}
	}
}
