package fair

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// A share gets an eighth of the processors, and less where eight and more have
	// work: a part that nobody has is left for what comes.
	leastParts = 8

	recent = 10 * time.Second       // who had work this lately counts
	note   = 100 * time.Millisecond // how exactly it is known when that was
	burst  = 2 * time.Millisecond   // that may be worked at once after a rest
	window = 50 * time.Millisecond  // over which work is measured

	// Work takes no less than a half and no more than four times what it is announced
	// as: a measurement that says otherwise has met something else.
	leastScale, mostScale = 0.5, 4
)

// Meter divides the processor time of a process. Make it with New.
type Meter struct {
	processors float64
	used       func() time.Duration // processor time that the process has used
	began      time.Time
	crowded    atomic.Bool // more than one share has work

	mu      sync.Mutex
	shares  map[*Share]struct{}
	busy    int           // shares that have work, as far as counted
	counted time.Duration // since began: when they were counted
	since   time.Duration // likewise: when the window began
	before  time.Duration // used by then
	booked  time.Duration // work that was announced in the window
	scale   float64       // what work takes of what it is announced as
}

// New returns a Meter of so many processors. used says how much of their time the
// process has used.
func New(processors float64, used func() time.Duration) *Meter {
	return &Meter{processors: processors, used: used, began: time.Now(), shares: map[*Share]struct{}{}, scale: 1, before: used()}
}

// Join adds a share; the caller has it Leave.
func (m *Meter) Join() *Share {
	s := &Share{m: m, free: -burst}
	s.seen.Store(int64(-recent))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shares[s] = struct{}{}
	return s
}

// Leave removes a share that has no more work.
func (s *Share) Leave() {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	delete(s.m.shares, s)
	s.m.count(time.Since(s.m.began))
}

// count finds out how many have work. The caller holds mu.
func (m *Meter) count(now time.Duration) {
	m.counted, m.busy = now, 0
	for s := range m.shares {
		if now-time.Duration(s.seen.Load()) < recent {
			m.busy++
		}
	}
	if m.busy > 1 && !m.crowded.Load() {
		m.since, m.before, m.booked = now, m.used(), 0
	}
	m.crowded.Store(m.busy > 1)
}

// measure compares what was announced with what it took. The caller holds mu.
func (m *Meter) measure(now time.Duration) {
	if now-m.since < window {
		return
	}
	if used := m.used(); m.booked > window/50 {
		took := float64(used-m.before) / float64(m.booked)
		m.scale = min(max((m.scale+took)/2, leastScale), mostScale)
		m.since, m.before, m.booked = now, used, 0
	}
}

// book enters a piece of work of s and returns when it may begin, which is now where
// it is free.
func (m *Meter) book(s *Share, now, work time.Duration, free bool) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now-m.counted > note {
		m.count(now)
	}
	if !m.crowded.Load() {
		return now
	}
	m.measure(now)
	m.booked += work
	if free {
		return now
	}
	at := max(s.free, now-burst)
	s.free = at + time.Duration(float64(work)*m.scale*max(leastParts, float64(m.busy)+1)/m.processors)
	return at
}
