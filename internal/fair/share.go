package fair

import (
	"context"
	"sync/atomic"
	"time"
)

// Share is what one of those that a process serves has of its time. A nil Share is
// that of a process that serves one alone.
type Share struct {
	m     *Meter
	under atomic.Int64  // pieces of work that are under way, as far as they are told of
	seen  atomic.Int64  // since the meter began, in nanoseconds: when it had work, to within note
	free  time.Duration // likewise: when what it booked in its own part has been worked; under the meter's mu
}

// Begin says that something is under way that waits for its pieces, until End. Who has
// one such thing under way, and no more, waits for none of them.
func (s *Share) Begin() {
	if s != nil {
		s.under.Add(1)
	}
}

// End ends what Begin began.
func (s *Share) End() {
	if s != nil {
		s.under.Add(-1)
	}
}

// Heed waits as Wait does, if s has more under way than one thing.
func (s *Share) Heed(ctx context.Context, work time.Duration) {
	if s != nil {
		s.wait(ctx, work, s.under.Load() <= 1)
	}
}

// Wait returns when a piece of work that takes about so long may begin, or when ctx
// ends. Nothing is to be given back.
func (s *Share) Wait(ctx context.Context, work time.Duration) {
	if s != nil {
		s.wait(ctx, work, false)
	}
}

func (s *Share) wait(ctx context.Context, work time.Duration, free bool) {
	now := time.Since(s.m.began)
	if idle := now - time.Duration(s.seen.Load()); idle > note {
		s.seen.Store(int64(now))
		if idle >= recent {
			s.m.mu.Lock()
			s.m.count(now)
			s.m.mu.Unlock()
		}
	}
	if !s.m.crowded.Load() {
		return
	}
	at := s.m.book(s, now, work, free)
	if at <= now {
		return
	}
	t := time.NewTimer(at - now)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
