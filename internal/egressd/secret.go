package egressd

import (
	"errors"
	"fmt"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/mitm"
)

// firstGeneration is the generation of a value from the cache; values that the
// daemon sends count on from it.
const firstGeneration = 1

// secret takes one delivery. Reading waits for a source, so it happens aside.
func (p *process) secret(m wire.Secret) error {
	var c *credential
	if j, ok := p.jails[m.Jail]; ok {
		c = j.newer(m.Binding, m.Generation)
	}
	if c == nil {
		closeFiles(m.Value, m.Stderr)
		return p.conn.SendMessage(wire.Outcome{Jail: m.Jail, Binding: m.Binding, Generation: m.Generation, Result: wire.Unknown})
	}
	go p.deliver(p.jails[m.Jail], c, m)
	return nil
}

// newer returns the jail's value of that number if generation is younger than what
// came for it before.
func (j *jail) newer(number uint16, generation uint64) *credential {
	j.mu.Lock()
	defer j.mu.Unlock()
	c := j.credentials[number]
	if c == nil || generation <= c.generation {
		return nil
	}
	c.generation = generation
	return c
}

func (p *process) deliver(j *jail, c *credential, m wire.Secret) {
	defer closeFiles(m.Value, m.Stderr)
	s, result := readValue(m.By, m.Value)
	if result == wire.Got && j.tooShort(s) {
		result = wire.TooShort
	}
	var text string
	switch {
	case result == wire.Got:
		p.cache.put(c.key, s)
		j.resolve(c, m.Generation, s)
		p.refreshAfter(j, c)
	case result == wire.NoValue:
		// Only here is the text passed on: no byte of a value was seen, so none
		// can stand in it.
		j.fail(c, m.Generation, result, c.binding.Optional || m.By == wire.ByDrop)
		text = readText(m.Stderr)
	default:
		j.fail(c, m.Generation, result, false)
	}
	// This fails only when the daemon is gone, and then so are we.
	p.conn.SendMessage(wire.Outcome{Jail: j.id, Binding: m.Binding, Generation: m.Generation, Result: result, Text: text})
}

func (j *jail) resolve(c *credential, generation uint64, s creds.Secret) {
	c.table.Resolve(c.row, generation, s, nil)
	j.mu.Lock()
	defer j.mu.Unlock()
	c.resolved = true
}

// tooShort reports whether a value must not be used, because replies are to be
// masked and a mask would confirm a guess of it.
func (j *jail) tooShort(s creds.Secret) bool {
	return s.Len() < creds.MinMasked && mitm.Reflection(j.now.Load().spec.OnReflection).Masks() || s.Len() < creds.MinSearched
}

// fail tells who waits why there is no value. A value that a refresh could not
// replace stays: whether it is still good is the bound host's to say.
func (j *jail) fail(c *credential, generation uint64, r wire.Result, drop bool) {
	j.mu.Lock()
	resolved := c.resolved
	j.mu.Unlock()
	switch {
	case resolved:
	case drop:
		c.table.Drop(c.row)
	default:
		c.table.Resolve(c.row, generation, creds.Secret{}, reasonOf(r))
	}
}

func reasonOf(r wire.Result) error {
	switch r {
	case wire.NoValue:
		return creds.ErrNoValue
	case wire.Late:
		return errors.New("the source did not answer in time")
	case wire.TooShort:
		return errors.New("the value is too short to be masked in replies")
	case wire.NotSealed:
		return errors.New("the client's memfd is not sealed")
	}
	return fmt.Errorf("the source's value cannot be used (%d)", r)
}

// key names the value of binding i in the cache; empty: it is not kept.
func key(spec wire.Spec, i int) string {
	if i < len(spec.Keys) {
		return spec.Keys[i]
	}
	return ""
}

// fromCache resolves what is still at hand of new values and returns their numbers.
func (p *process) fromCache(j *jail, fresh []*credential) (cached []uint16) {
	for _, c := range fresh {
		s, ok := p.cache.get(c.key)
		if !ok || j.tooShort(s) {
			continue
		}
		j.newer(c.number, firstGeneration)
		j.resolve(c, firstGeneration, s)
		p.refreshAfter(j, c)
		cached = append(cached, c.number)
	}
	return cached
}
