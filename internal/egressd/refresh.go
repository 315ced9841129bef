package egressd

import (
	"time"

	"github.com/omnijail/omnijail/internal/egressd/wire"
)

// credential is how far one binding of a jail has come.
type credential struct {
	generation uint64 // newest that came
	resolved   bool   // a value is in the table
	asked      uint64 // newest generation that a refresh was asked for
	expiry     *time.Timer
}

// refreshAfter asks the daemon for a new value when the binding's time is over.
func (p *process) refreshAfter(j *jail, binding uint16, generation uint64) {
	ttl := j.spec.Bindings[binding].TTL
	if ttl <= 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return
	}
	c := &j.credentials[binding]
	if c.expiry != nil {
		c.expiry.Stop()
	}
	c.expiry = time.AfterFunc(ttl, func() { p.refresh(j, binding) })
}

// stale is told by the proxy that the bound host no longer takes a value.
func (p *process) stale(j *jail) func(binding int) {
	return func(binding int) { p.refresh(j, uint16(binding)) }
}

// refresh asks once for each generation: a jail decides how often a host says 401.
func (p *process) refresh(j *jail, binding uint16) {
	j.mu.Lock()
	c := &j.credentials[binding]
	generation := c.generation
	again := j.closed || c.asked == generation
	c.asked = generation
	j.mu.Unlock()
	if !again {
		p.conn.SendMessage(wire.Refresh{Jail: j.id, Binding: binding, Generation: generation}) // an error means the daemon is gone
	}
}
