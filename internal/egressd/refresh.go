package egressd

import (
	"time"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/egressd/wire"
)

// credential is how far one value of a jail has come.
type credential struct {
	number  uint16 // by which the daemon knows it
	binding creds.Binding
	key     string       // names it in the cache; empty: it is not kept
	table   *creds.Table // a table that has it, and where: tables that keep it share it
	row     int

	// Under jail.mu.
	generation uint64 // newest that came
	resolved   bool   // a value is in the table
	asked      uint64 // newest generation that a refresh was asked for
	expiry     *time.Timer
	gone       bool // no policy in force has it
}

// stop ends what would still ask for the value. The jail is locked.
func (c *credential) stop() {
	c.gone = true
	if c.expiry != nil {
		c.expiry.Stop()
	}
}

// refreshAfter asks the daemon for a new value when the binding's time is over.
func (p *process) refreshAfter(j *jail, c *credential) {
	if c.binding.TTL <= 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed || c.gone {
		return
	}
	if c.expiry != nil {
		c.expiry.Stop()
	}
	c.expiry = time.AfterFunc(c.binding.TTL, func() { p.refresh(j, c) })
}

// stale is told by the proxy that the bound host no longer takes a value of n's.
func (p *process) stale(j *jail, n *inForce) func(binding int) {
	return func(binding int) {
		j.mu.Lock()
		c := j.credentials[n.spec.Number(binding)]
		j.mu.Unlock()
		if c != nil {
			p.refresh(j, c)
		}
	}
}

// refresh asks once for each generation: a jail decides how often a host says 401.
func (p *process) refresh(j *jail, c *credential) {
	j.mu.Lock()
	generation := c.generation
	again := j.closed || c.gone || c.asked == generation
	c.asked = generation
	j.mu.Unlock()
	if !again {
		p.conn.SendMessage(wire.Refresh{Jail: j.id, Binding: c.number, Generation: generation}) // an error means the daemon is gone
	}
}
