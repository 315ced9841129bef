package creds

import (
	"reflect"
	"slices"
)

// SamePlaceholder reports whether b is, to a jail, the binding that was: what it
// holds in its variables is good for the same places.
func (b Binding) SamePlaceholder(was Binding) bool {
	return b.Name == was.Name && b.Type == was.Type && b.Shape == was.Shape &&
		slices.Equal(b.Targets, was.Targets) && slices.Equal(b.Env, was.Env)
}

// SameValue reports whether b is the binding that was and takes its value from the
// same sources.
func (b Binding) SameValue(was Binding) bool {
	return b.SamePlaceholder(was) && b.TTL == was.TTL && b.Optional == was.Optional &&
		reflect.DeepEqual(b.Sources, was.Sources)
}

// showsPlaceholder reports whether some variable of the jail holds a placeholder.
func (b Binding) showsPlaceholder() bool {
	return slices.ContainsFunc(b.Env, func(e EnvVar) bool { return e.Fixed == "" })
}

// Next checks the bindings of a policy that is to take the place of t's and returns
// their table. A binding that stays has its placeholder in both; where values[i] is
// a binding of t's with the same sources, it has its value in both, too. Placeholders
// of bindings that are gone are unknown to the new table.
func (t *Table) Next(bs []Binding, values map[int]int) (*Table, error) {
	next, err := NewTable(bs)
	if err != nil {
		return nil, err
	}
	for i, r := range next.rows {
		if was, ok := values[i]; ok && was < t.Len() && r.SameValue(t.rows[was].Binding) {
			r.state = t.rows[was].state
			continue
		}
		for _, old := range t.all() {
			if r.SamePlaceholder(old.Binding) {
				r.placeholder = old.placeholder
			}
		}
	}
	for _, old := range t.known() {
		if !slices.ContainsFunc(next.rows, func(r *row) bool { return r.state == old.state }) {
			next.told = append(next.told, old)
		}
	}
	next.told = next.told[max(0, len(next.told)-maxBindings):]
	return next, nil
}

// Adds reports whether t has a binding, and so a value, that former has not.
func (t *Table) Adds(former *Table) bool {
	return slices.ContainsFunc(t.all(), func(r *row) bool {
		return !slices.ContainsFunc(former.all(), func(o *row) bool { return o.state == r.state })
	})
}

// Keeps reports whether t has the value that binding i of former has. No binding,
// -1, is always kept.
func (t *Table) Keeps(former *Table, i int) bool {
	return i < 0 || slices.ContainsFunc(t.all(), func(r *row) bool { return r.state == former.rows[i].state })
}
