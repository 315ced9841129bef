package audit

import "time"

const (
	repeatWindow = 10 * time.Second
	writtenFirst = 4    // identical denials that are written before counting begins
	repeatKeys   = 4096 // different denials that are looked after at a time
)

// deniedAs is what makes two denials identical.
type deniedAs struct {
	uid                            uint32
	kind                           Kind
	jail, authority, method, path  string
	code, credential, rule, policy string
	generation                     uint32
}

// repeats counts identical denials, so that a loop of them costs the journal a
// line in ten seconds and not its space. Denials alone are counted: an allowed
// request always has a line of its own before it leaves.
type repeats struct{ seen map[deniedAs]*repeat }

type repeat struct {
	written int
	record  Record // the last one written
	count   uint64
	first   time.Time // of those counted
	until   time.Time
}

func newRepeats() repeats { return repeats{map[deniedAs]*repeat{}} }

func keyOf(r Record) deniedAs {
	return deniedAs{r.UID, r.Kind, r.Jail, r.Authority, r.Method, r.Path, r.Code, r.Credential, r.Rule, r.Policy, r.Generation}
}

func counts(r Record) bool { return r.Decision == Deny && r.Kind != KindDone && r.Count == 0 }

// known counts r if enough like it were written, and gives it the number of the
// last one.
func (s repeats) known(r *Record) bool {
	if !counts(*r) {
		return false
	}
	e := s.seen[keyOf(*r)]
	if e == nil || e.written < writtenFirst {
		return false
	}
	now := time.Now().UTC()
	if e.count++; e.count == 1 {
		e.first = now
	}
	*r = e.record
	r.Count, r.First = e.count, e.first
	return true
}

// wrote notes that r is in the journal.
func (s repeats) wrote(r Record) {
	if !counts(r) {
		return
	}
	e := s.seen[keyOf(r)]
	if e == nil {
		if len(s.seen) >= repeatKeys {
			return
		}
		e = &repeat{until: r.Time.Add(repeatWindow)}
		s.seen[keyOf(r)] = e
	}
	e.written++
	e.record = r
}

// due takes out the denials whose window has ended, and returns one summary for
// each that was counted.
func (s repeats) due(now time.Time) []Record {
	return s.take(func(e *repeat) bool { return !now.Before(e.until) })
}

// all is due for the end of the journal.
func (s repeats) all() []Record {
	return s.take(func(*repeat) bool { return true })
}

func (s repeats) take(ended func(*repeat) bool) (sums []Record) {
	for key, e := range s.seen {
		if !ended(e) {
			continue
		}
		delete(s.seen, key)
		if e.count > 0 {
			r := e.record
			r.Count, r.First = e.count, e.first
			sums = append(sums, r)
		}
	}
	return sums
}
