package creds

import "encoding/binary"

// mask stands in place of each byte of a secret.
const mask = '*'

// Scrubber searches one stream for the forms of secrets, across the borders of the
// pieces that it comes in, and masks them. It is for one stream and one goroutine.
type Scrubber struct {
	find  func() *Matcher // the one of this moment; nil when there is nothing to find
	using *Matcher
	held  []byte // a form may begin with these bytes
	live  []walk // places in held
}

// NewScrubber returns a Scrubber for the secrets of t as they come and change.
func (t *Table) NewScrubber() *Scrubber { return &Scrubber{find: t.Matcher} }

// Next takes the next piece of the stream, which it may change, and returns what
// can go on, with each form masked, and how many forms there were. What could be the
// beginning of a form waits for the next piece. The result is valid until the next
// call, and may be empty.
func (s *Scrubber) Next(piece []byte) (out []byte, hits int) {
	m := s.find()
	if m != s.using {
		// What waits was looked at with fewer secrets, or with older ones.
		s.using, s.live = m, nil
		piece = append(s.held, piece...)
		s.held = nil
	}
	if m == nil {
		return piece, 0
	}
	known := len(s.held)
	if known > 0 {
		piece = append(s.held, piece...)
		s.held = nil
	}
	found := s.scan(m, piece, known)
	for _, f := range found {
		cover(piece[f[0]:f[1]])
	}
	out = piece
	if len(s.live) > 0 {
		at := s.live[0].at
		s.held = append([]byte(nil), piece[at:]...)
		for i := range s.live {
			s.live[i].at -= at
		}
		out = piece[:at]
	}
	return out, separate(found)
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

// scan looks at b, whose first known bytes have been looked at, and returns where
// forms stand. It leaves the walks that b was too short for.
func (s *Scrubber) scan(m *Matcher, b []byte, known int) (found [][2]int) {
	before := s.live
	s.live = nil
	for _, w := range before {
		found = s.follow(m, w, b, known, found)
	}
	end := known + m.stride - 2 // the window's last two bytes are at end
	for end+1 < len(b) {
		skip := int(m.skips[binary.LittleEndian.Uint16(b[end:])&pairMask])
		if skip == 0 {
			found = s.start(m, b, end+2-m.stride, found)
			skip = 1
		}
		end += skip
	}
	for at := max(known, end+2-m.stride); at < len(b); at++ {
		found = s.start(m, b, at, found)
	}
	return found
}

func (s *Scrubber) start(m *Matcher, b []byte, at int, found [][2]int) [][2]int {
	if w, ok := m.begin(at, b[at]); ok {
		return s.follow(m, w, b, at+1, found)
	}
	return found
}

// follow walks on from b[i]. A walk that is not over stays live.
func (s *Scrubber) follow(m *Matcher, w walk, b []byte, i int, found [][2]int) [][2]int {
	for ; i < len(b); i++ {
		whole, alive := m.step(&w, b[i])
		if whole {
			found = append(found, [2]int{w.at, i + 1})
		}
		if !alive {
			return found
		}
	}
	s.live = append(s.live, w)
	return found
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
