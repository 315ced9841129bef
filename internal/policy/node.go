package policy

import "slices"

// kind is what a node is.
type kind uint8

const (
	scalar kind = iota
	list
	mapping
)

func (k kind) String() string { return [...]string{"a scalar", "a list", "a mapping"}[k] }

// tag is what a scalar is.
type tag uint8

const (
	tagString tag = iota
	tagInt
	tagFloat
	tagBool
	tagNull
)

// node is a document as it was written, from whichever reader.
type node struct {
	kind   kind
	tag    tag    // of a scalar
	text   string // of a scalar; integers in decimal, booleans "true" or "false"
	items  []*node
	fields []field // in the order of the document, names unique
	at     Pos
}

// field is one entry of a mapping.
type field struct {
	name  string
	at    Pos
	value *node
}

func (n *node) isNull() bool { return n == nil || n.kind == scalar && n.tag == tagNull }

func (n *node) isBool() bool { return n != nil && n.kind == scalar && n.tag == tagBool }

// get returns the value of a field, nil when the mapping has none.
func (n *node) get(name string) *node {
	if n == nil || n.kind != mapping {
		return nil
	}
	for _, f := range n.fields {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// take removes a field and returns it.
func (n *node) take(name string) (field, bool) {
	for i, f := range n.fields {
		if f.name == name {
			n.fields = slices.Delete(n.fields, i, i+1)
			return f, true
		}
	}
	return field{}, false
}

// put appends a field, or replaces the value of the one with this name.
func (n *node) put(f field) {
	for i := range n.fields {
		if n.fields[i].name == f.name {
			n.fields[i] = f
			return
		}
	}
	n.fields = append(n.fields, f)
}

// extend appends an item to the list called name, making the list where there
// is none.
func (n *node) extend(name string, item *node) {
	if l := n.get(name); l != nil && l.kind == list {
		l.items = append(l.items, item)
		return
	}
	n.put(field{name, item.at, &node{kind: list, at: item.at, items: []*node{item}}})
}

// merge lays over on top of base: lists append what is not there yet, mappings
// merge by key, scalars are replaced, and null changes nothing. Neither argument
// is changed.
func merge(base, over *node) *node {
	switch {
	case over.isNull():
		return base
	case base.isNull() || base.kind != over.kind || base.kind == scalar:
		return over
	case base.kind == list:
		out := *base
		out.items = slices.Clone(base.items)
		seen := map[string]bool{}
		for _, item := range base.items {
			seen[digest(item)] = true
		}
		for _, item := range over.items {
			if !seen[digest(item)] {
				out.items = append(out.items, item)
			}
		}
		return &out
	}
	out := *base
	out.fields = slices.Clone(base.fields)
	for _, f := range over.fields {
		if old := base.get(f.name); old != nil {
			f.value = merge(old, f.value)
		}
		out.put(f)
	}
	return &out
}
