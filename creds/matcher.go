package creds

import "slices"

// Matcher finds forms of secrets in bytes. It is made once for each state of a
// table and never changes.
//
// Where a form could end is found by looking at two bytes of each few (Wu and
// Manber's search): a reply is touched once in about twelve bytes. What begins there
// is followed byte by byte through the sorted list of forms. An automaton of Aho and
// Corasick touches each byte, at a tenth of the speed.
type Matcher struct {
	forms  []string            // folded and sorted
	first  [256][2]int         // the forms that begin with a byte: from, to
	least  int                 // the length of the shortest form
	stride int                 // the same, at most maxStride
	skips  [pairMask + 1]uint8 // by two bytes: how far the search may move on
}

// maxStride bounds the window. Values that may be masked are no shorter.
const maxStride = 32

// newMatcher makes a matcher of folded forms, none shorter than MinSearched. There is
// none for no forms.
func newMatcher(forms []string) *Matcher {
	slices.Sort(forms)
	forms = slices.Compact(forms)
	if len(forms) == 0 {
		return nil
	}
	m := &Matcher{forms: forms, least: len(forms[0])}
	for i, f := range forms {
		m.least = min(m.least, len(f))
		if r := &m.first[f[0]]; r[1] == 0 {
			*r = [2]int{i, i + 1}
		} else {
			r[1] = i + 1
		}
	}
	m.stride = min(m.least, maxStride)
	for i := range m.skips {
		m.skips[i] = uint8(m.stride - 1)
	}
	for _, f := range forms {
		for i := range m.stride - 1 {
			pair := (uint16(f[i]) | uint16(f[i+1])<<8) & pairMask
			m.skips[pair] = min(m.skips[pair], uint8(m.stride-2-i))
		}
	}
	return m
}

// pairMask takes from two bytes the bits that tell letters and digits apart and not
// their case. What is left of the table fits the nearest cache.
const pairMask = 0x5f5f

// walk is a place where forms begin, as far as it has been followed.
type walk struct {
	at     int // where it began
	depth  int // bytes that fit
	lo, hi int // the forms that go on like this
}

// begin starts a walk with byte c at a place.
func (m *Matcher) begin(at int, c byte) (walk, bool) {
	r := m.first[fold[c]]
	return walk{at: at, depth: 1, lo: r[0], hi: r[1]}, r[0] < r[1]
}

// step follows w by one byte. whole says that a form ends with it, alive that a
// longer one may.
func (m *Matcher) step(w *walk, c byte) (whole, alive bool) {
	c = fold[c]
	// A form that ended before is the first of its range.
	for w.lo < w.hi && (len(m.forms[w.lo]) == w.depth || m.forms[w.lo][w.depth] < c) {
		w.lo++
	}
	for w.lo < w.hi && m.forms[w.hi-1][w.depth] > c {
		w.hi--
	}
	if w.lo == w.hi {
		return false, false
	}
	w.depth++
	whole = len(m.forms[w.lo]) == w.depth
	return whole, !whole || w.hi-w.lo > 1
}
