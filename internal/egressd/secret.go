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
	j, ok := p.jails[m.Jail]
	if !ok || !j.newer(m) {
		closeFiles(m.Value, m.Stderr)
		return p.conn.SendMessage(wire.Outcome{Jail: m.Jail, Binding: m.Binding, Generation: m.Generation, Result: wire.Unknown})
	}
	go p.deliver(j, m)
	return nil
}

// newer reports whether m is for a binding of the jail and younger than what came
// for it before.
func (j *jail) newer(m wire.Secret) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	i := int(m.Binding)
	if i >= len(j.credentials) || m.Generation <= j.credentials[i].generation {
		return false
	}
	j.credentials[i].generation = m.Generation
	return true
}

func (p *process) deliver(j *jail, m wire.Secret) {
	defer closeFiles(m.Value, m.Stderr)
	s, result := readValue(m.By, m.Value)
	if result == wire.Got && j.tooShort(s) {
		result = wire.TooShort
	}
	i, binding := int(m.Binding), j.spec.Bindings[m.Binding]
	var text string
	switch {
	case result == wire.Got:
		p.cache.put(j.key(i), s)
		j.resolve(i, m.Generation, s)
		p.refreshAfter(j, m.Binding, m.Generation)
	case result == wire.NoValue:
		// Only here is the text passed on: no byte of a value was seen, so none
		// can stand in it.
		j.fail(i, m.Generation, result, binding.Optional || m.By == wire.ByDrop)
		text = readText(m.Stderr)
	default:
		j.fail(i, m.Generation, result, false)
	}
	// This fails only when the daemon is gone, and then so are we.
	p.conn.SendMessage(wire.Outcome{Jail: j.id, Binding: m.Binding, Generation: m.Generation, Result: result, Text: text})
}

func (j *jail) resolve(i int, generation uint64, s creds.Secret) {
	j.table.Resolve(i, generation, s, nil)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.credentials[i].resolved = true
}

// tooShort reports whether a value must not be used, because replies are to be
// masked and a mask would confirm a guess of it.
func (j *jail) tooShort(s creds.Secret) bool {
	return s.Len() < creds.MinMasked && mitm.Reflection(j.spec.OnReflection).Masks() || s.Len() < creds.MinSearched
}

// fail tells who waits why there is no value. A value that a refresh could not
// replace stays: whether it is still good is the bound host's to say.
func (j *jail) fail(i int, generation uint64, r wire.Result, drop bool) {
	j.mu.Lock()
	resolved := j.credentials[i].resolved
	j.mu.Unlock()
	switch {
	case resolved:
	case drop:
		j.table.Drop(i)
	default:
		j.table.Resolve(i, generation, creds.Secret{}, reasonOf(r))
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
func (j *jail) key(i int) string {
	if i < len(j.spec.Keys) {
		return j.spec.Keys[i]
	}
	return ""
}

// fromCache resolves what is still at hand and returns those bindings.
func (p *process) fromCache(j *jail) (cached []uint16) {
	for i := range j.spec.Bindings {
		s, ok := p.cache.get(j.key(i))
		if !ok || j.tooShort(s) {
			continue
		}
		j.newer(wire.Secret{Binding: uint16(i), Generation: firstGeneration})
		j.resolve(i, firstGeneration, s)
		p.refreshAfter(j, uint16(i), firstGeneration)
		cached = append(cached, uint16(i))
	}
	return cached
}
