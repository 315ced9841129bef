package daemon

import (
	"slices"
	"sync"

	"github.com/omnijail/omnijail/api"
)

// audience are the clients that watch a jail: those of its commands. The egress
// process knows a jail, not a command, so that each of them is told everything.
type audience struct {
	mu   sync.Mutex
	list []*events
}

func (a *audience) join(e *events) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, e)
}

func (a *audience) leave(e *events) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = slices.DeleteFunc(a.list, func(o *events) bool { return o == e })
}

func (a *audience) send(ev api.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.list {
		e.send(ev)
	}
}

func (a *audience) note(text, hint string) {
	a.send(api.Event{Note: &api.Note{Text: text, Hint: hint}})
}
