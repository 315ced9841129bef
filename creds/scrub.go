package creds

import (
	"cmp"
	"encoding/binary"
	"io"
	"slices"
)

// mask stands in place of each byte of a secret.
const mask = '*'

// Scrubber searches one stream for the forms of secrets, across the borders of the
// pieces that it comes in, and masks them. It is for one stream and one goroutine.
type Scrubber struct {
	find  func() *Matcher // the one of this moment; nil when there is nothing to find
	using *Matcher
	held  []byte // a form may begin with these bytes
	live  []walk // places in held, in their order
	room  []walk // for those of the next piece
	found [][2]int
}

// NewScrubber returns a Scrubber for the secrets of t as they come and change.
func (t *Table) NewScrubber() *Scrubber { return &Scrubber{find: t.Matcher} }

// Next takes the next piece of the stream, which it may change, and returns what
// can go on, with each form masked, and how many forms there were. What could be the
// beginning of a form waits for the next piece. The result is valid until the next
// call, and may be empty.
func (s *Scrubber) Next(piece []byte) (out []byte, hits int) {
	waited := len(s.held)
	if waited > 0 {
		piece = slices.Concat(s.held, piece)
	}
	return s.next(piece, waited)
}

// Read is Next for a piece that it reads from r into p. What waited is put before
// it in p, so that a stream is searched where it lies.
func (s *Scrubber) Read(r io.Reader, p []byte) (out []byte, hits int, err error) {
	if len(s.held) > len(p)/2 {
		n, err := r.Read(p)
		out, hits = s.Next(p[:n])
		return out, hits, err
	}
	waited := copy(p, s.held)
	n, err := r.Read(p[waited:])
	out, hits = s.next(p[:waited+n], waited)
	return out, hits, err
}

// next searches b, whose first bytes are those that waited.
func (s *Scrubber) next(b []byte, waited int) (out []byte, hits int) {
	s.held = s.held[:0]
	m := s.find()
	if m != s.using {
		// What waits was looked at with fewer secrets, or with older ones.
		s.using, s.live, waited = m, nil, 0
	}
	if m == nil {
		return b, 0
	}
	s.scan(m, b, waited)
	for _, f := range s.found {
		cover(b[f[0]:f[1]])
	}
	out = b
	if len(s.live) > 0 {
		at := s.live[0].at
		s.held = append(s.held, b[at:]...)
		for i := range s.live {
			s.live[i].at -= at
		}
		out = b[:at]
	}
	return out, separate(s.found)
}

// separate counts places that do not overlap: one reflection may hold several forms.
func separate(found [][2]int) (n int) {
	end := 0
	for _, f := range found {
		if f[0] >= end {
			n++
		}
		end = max(end, f[1])
	}
	return n
}

// Rest ends the stream and returns what waited: it was not a whole form.
func (s *Scrubber) Rest() []byte {
	rest := s.held
	s.held, s.live = nil, nil
	return rest
}

// scan looks at b, whose first known bytes have been looked at. It leaves in found
// where forms stand and in live the walks that b was too short for.
func (s *Scrubber) scan(m *Matcher, b []byte, known int) {
	before := s.live
	s.found, s.live = s.found[:0], s.room[:0]
	for _, w := range before {
		s.follow(m, w, b, known)
	}
	s.room = before
	at := known
	if half := known + (len(b)-known)/2; half-known > 4*m.stride {
		at = s.slideBoth(m, b, known, half)
	}
	at = s.slide(m, b, at, len(b))
	for ; at < len(b); at++ { // too near the end for a window
		s.start(m, b, at)
	}
	slices.SortFunc(s.live, func(v, w walk) int { return v.at - w.at })
	slices.SortFunc(s.found, func(f, g [2]int) int { return cmp.Or(f[0]-g[0], f[1]-g[1]) })
}

// slideBoth looks at the places from low to high, and behind high at about as many,
// with two windows in turns: one alone waits at each step for the memory. It returns
// the place where the second window has come to.
func (s *Scrubber) slideBoth(m *Matcher, b []byte, low, high int) int {
	last := m.stride - 2 // of a window: its last two bytes
	half := high
	for low < half && high+last+1 < len(b) {
		skipLow := int(m.skips[binary.LittleEndian.Uint16(b[low+last:])&pairMask])
		skipHigh := int(m.skips[binary.LittleEndian.Uint16(b[high+last:])&pairMask])
		if skipLow == 0 {
			s.start(m, b, low)
			skipLow = 1
		}
		if skipHigh == 0 {
			s.start(m, b, high)
			skipHigh = 1
		}
		low, high = low+skipLow, high+skipHigh
	}
	s.slide(m, b, low, half)
	return high
}

// slide looks at the places from at to limit, as far as a window fits, and returns
// the first one that it has not looked at.
func (s *Scrubber) slide(m *Matcher, b []byte, at, limit int) int {
	last := m.stride - 2
	for at < limit && at+last+1 < len(b) {
		skip := int(m.skips[binary.LittleEndian.Uint16(b[at+last:])&pairMask])
		if skip == 0 {
			s.start(m, b, at)
			skip = 1
		}
		at += skip
	}
	return at
}

func (s *Scrubber) start(m *Matcher, b []byte, at int) {
	if w, ok := m.begin(at, b[at]); ok {
		s.follow(m, w, b, at+1)
	}
}

// follow walks on from b[i]. A walk that is not over stays live.
func (s *Scrubber) follow(m *Matcher, w walk, b []byte, i int) {
	for ; i < len(b); i++ {
		whole, alive := m.step(&w, b[i])
		if whole {
			s.found = append(s.found, [2]int{w.at, i + 1})
		}
		if !alive {
			return
		}
	}
	s.live = append(s.live, w)
}

// cover masks b. Its length stays, and with it every length that counts it.
func cover(b []byte) {
	for i := range b {
		b[i] = mask
	}
}

// ScrubText masks the forms in a text that is there as a whole.
func (t *Table) ScrubText(text string) (string, int) {
	if m := t.Matcher(); m == nil || len(text) < m.least {
		return text, 0
	}
	s := Scrubber{find: t.Matcher}
	out, hits := s.Next([]byte(text))
	if hits == 0 {
		return text, 0
	}
	return string(out) + string(s.Rest()), hits
}
