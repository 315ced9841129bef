package daemon

import (
	"io"
	"sync"
	"time"
)

// stock keeps things ready that every start needs and that take a while to make.
// What was taken never comes back. Making more is left to refill, so that it does
// not take the processor from the start that it was taken for.
type stock[T io.Closer] struct {
	size   int
	build  func() (T, error)
	wanted chan struct{}
	closed chan struct{}
	maker  sync.WaitGroup
	drops  sync.WaitGroup

	mu    sync.Mutex
	ready []T
}

// newStock returns a stock of size things and starts to make them. Where one
// cannot be made, the next refill asks again; build says why.
func newStock[T io.Closer](size int, build func() (T, error)) *stock[T] {
	s := &stock[T]{size: size, build: build, wanted: make(chan struct{}, 1), closed: make(chan struct{})}
	s.maker.Go(s.work)
	s.refill()
	return s
}

// take returns a thing that fits, if there is one. Those that do not are dropped:
// they are of a time that has passed. Nobody waits for that: a jail takes long to end.
func (s *stock[T]) take(fits func(T) bool) (thing T, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.ready) > 0 {
		next := s.ready[0]
		s.ready = s.ready[1:]
		if fits(next) {
			return next, true
		}
		s.drops.Go(func() { next.Close() })
	}
	return thing, false
}

// sift drops those that do not fit any more, and has others made in their place.
func (s *stock[T]) sift(fits func(T) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept []T
	for _, thing := range s.ready {
		if fits(thing) {
			kept = append(kept, thing)
		} else {
			s.drops.Go(func() { thing.Close() })
		}
	}
	s.ready = kept
	s.refill()
}

// refill has what is missing made, beside the caller.
func (s *stock[T]) refill() {
	select {
	case s.wanted <- struct{}{}:
	default: // asked already
	}
}

func (s *stock[T]) work() {
	for {
		select {
		case <-s.wanted:
		case <-s.closed:
			return
		}
		for s.missing() {
			thing, err := s.build()
			if err != nil {
				break
			}
			s.mu.Lock()
			s.ready = append(s.ready, thing)
			s.mu.Unlock()
		}
	}
}

func (s *stock[T]) missing() bool {
	select {
	case <-s.closed:
		return false
	default:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ready) < s.size
}

// depth is how many things are ready.
func (s *stock[T]) depth() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ready)
}

// close drops what nobody took. Nothing is made after it; it is called once.
func (s *stock[T]) close() {
	close(s.closed)
	s.maker.Wait()
	s.take(func(T) bool { return false })
	s.drops.Wait()
}

// lull is how long the making of what a start took is put off. A command that is
// over sooner has had the processors for itself.
const lull = 50 * time.Millisecond

// restock has everything made that a start is going to take: when over is called,
// or where its command runs for longer than a short one, while it runs.
func (m *Manager) restock() (over func()) {
	timer := time.AfterFunc(lull, m.refill)
	return func() {
		timer.Stop()
		m.refill()
	}
}

// refill has everything made that was taken for a start.
func (m *Manager) refill() {
	m.ready.refill()
	m.prepared.refill()
	m.scouts.refill()
}
