package creds

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Table is one jail's bindings, their placeholders and, once they arrive, their
// values. Placeholders live as long as the table and those that follow it with Next
// keep them. It is safe for concurrent use.
// A nil Table has no bindings and still refuses placeholders.
type Table struct {
	rows []*row
	told []*row // of the tables that this one follows: their hosts still know the values

	own    atomic.Pointer[search] // of values and cookies
	search atomic.Pointer[search] // of captured tokens, too
}

// row is a binding at work.
type row struct {
	Binding
	*state
}

// state is what a binding has in all tables that keep it.
type state struct {
	placeholder string // empty when the binding gives the jail none
	dropped     atomic.Bool

	ready chan struct{} // closed when the first answer is there
	mu    sync.Mutex
	gen   uint64
	value Secret
	err   error

	changes   atomic.Uint64               // of value, previous and earned
	captures  atomic.Uint64               // of captured
	previous  Secret                      // the generation before: requests with it are still under way
	earned    []string                    // session cookies that the value has earned, the latest last
	captured  atomic.Pointer[[]*captured] // what else it has earned; replaced under mu
	capturing sync.Mutex                  // one at a time: the same token has one placeholder
}

// NewTable checks the bindings and mints a placeholder for each that shows one to
// the jail.
func NewTable(bs []Binding) (*Table, error) {
	if err := CheckAll(bs); err != nil {
		return nil, err
	}
	t := &Table{}
	for _, b := range bs {
		t.rows = append(t.rows, &row{b, newState(b)})
	}
	return t, nil
}

func newState(b Binding) *state {
	s := &state{ready: make(chan struct{})}
	if b.showsPlaceholder() {
		s.placeholder = mint(b.Shape)
	}
	return s
}

// Placeholders returns the variables of the jail's environment: placeholders and
// fixed values, without those of dropped bindings.
func (t *Table) Placeholders() map[string]string {
	env := map[string]string{}
	for _, r := range t.all() {
		if r.dropped.Load() {
			continue
		}
		for _, e := range r.Env {
			if env[e.Name] = e.Fixed; e.Fixed == "" {
				env[e.Name] = r.placeholder
			}
		}
	}
	return env
}

// Binding returns binding i of NewTable's input.
func (t *Table) Binding(i int) Binding { return t.rows[i].Binding }

// Len returns the number of bindings, dropped ones included.
func (t *Table) Len() int { return len(t.all()) }

// HasHost reports whether some binding is for the host, on whatever port or path.
func (t *Table) HasHost(host string) bool {
	return slices.ContainsFunc(t.all(), func(r *row) bool {
		return slices.ContainsFunc(r.Targets, func(target Target) bool { return target.Authority.Host() == host })
	})
}

func (t *Table) all() []*row {
	if t == nil {
		return nil
	}
	return t.rows
}

// Resolve says that generation gen of binding i has arrived, or why it did not,
// and wakes who waits. An older generation than the one present is ignored.
func (t *Table) Resolve(i int, gen uint64, s Secret, err error) {
	if err == nil && s.IsZero() {
		err = ErrNoValue
	}
	r := t.rows[i]
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.answered()
	if r.dropped.Load() || !first && gen <= r.gen {
		return
	}
	if !r.value.IsZero() {
		r.previous = r.value
	}
	r.gen, r.value, r.err = gen, s, err
	r.changes.Add(1)
	if first {
		close(r.ready)
	}
}

// Drop takes an optional binding without a value out: from now on it is as if it
// had never been there, and its placeholder is an unknown one.
func (t *Table) Drop(i int) {
	r := t.rows[i]
	r.dropped.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.value, r.previous, r.err = Secret{}, Secret{}, ErrNoValue
	r.captured.Store(nil)
	r.captures.Add(1)
	r.changes.Add(1)
	if !r.answered() {
		close(r.ready)
	}
}

// answered is called with the state locked.
func (r *state) answered() bool {
	select {
	case <-r.ready:
		return true
	default:
		return false
	}
}

// Generation is the number of binding i's present value.
func (t *Table) Generation(i int) uint64 {
	r := t.rows[i]
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.gen
}

// Wait returns the value of binding i, waiting for the first answer. It gives the
// error that Resolve was told, or ctx's.
func (t *Table) Wait(ctx context.Context, i int) (Secret, error) {
	r := t.rows[i]
	select {
	case <-r.ready:
	case <-ctx.Done():
		return Secret{}, ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return Secret{}, r.err
	}
	return r.value, nil
}
