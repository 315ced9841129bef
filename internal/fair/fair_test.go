package fair

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// bench is a process of eight processors with some shares, in which work takes what it
// is announced as, times heavier.
type bench struct {
	m       *Meter
	mu      sync.Mutex
	used    time.Duration
	heavier time.Duration
	done    int // pieces
	workers sync.WaitGroup
}

func newBench(heavier time.Duration) *bench {
	b := &bench{heavier: heavier}
	b.m = New(8, func() time.Duration {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.used
	})
	return b
}

const piece = 100 * time.Microsecond

// flood has workers do pieces of work until ctx ends.
func (b *bench) flood(ctx context.Context, s *Share, workers int) {
	for range workers {
		s.Begin()
		b.workers.Go(func() {
			defer s.End()
			for ctx.Err() == nil {
				s.Heed(ctx, piece)
				b.mu.Lock()
				b.used += b.heavier * piece
				b.done++
				b.mu.Unlock()
				time.Sleep(piece)
			}
		})
	}
}

// during is how many pieces are done in a time.
func (b *bench) during(d time.Duration) int {
	b.mu.Lock()
	before := b.done
	b.mu.Unlock()
	time.Sleep(d)
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done - before
}

// took is how long f waits.
func took(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

// TestA75_WhoFloodsWaitsForItsShare has one share ask for much more than its part. It
// gets that part, and another that asks for less never waits.
func TestA75_WhoFloodsWaitsForItsShare(t *testing.T) {
	for name, heavier := range map[string]time.Duration{"as announced": 1, "three times as much": 3} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(heavier)
				busy, other := b.m.Join(), b.m.Join()
				ctx, cancel := context.WithCancel(t.Context())
				other.Wait(ctx, 0)
				b.flood(ctx, busy, 256)
				time.Sleep(time.Second) // until it is measured
				before := b.m.used()
				for range 1000 {
					other.Begin()
					other.Begin() // two at once: none is exempt
					if d := took(func() { other.Heed(ctx, piece/4) }); d > 0 {
						t.Fatalf("who asks for little waits %v", d)
					}
					other.End()
					other.End()
					time.Sleep(time.Millisecond)
				}
				if got := (b.m.used() - before).Seconds(); got < 0.7 || got > 1.3 {
					t.Errorf("in a second the flood has %.2f s of 8 processors, want an eighth", got)
				}
				cancel()
				b.workers.Wait()
			})
		})
	}
}

// Alone, nobody waits, and who was alone waits as soon as another comes.
func TestAloneNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(1)
		busy, other := b.m.Join(), b.m.Join()
		ctx, cancel := context.WithCancel(t.Context())
		b.flood(ctx, busy, 100)
		const all, eighth = 100_000, 1_000 // pieces in 100 ms: of every worker, of one processor
		if n := b.during(100 * time.Millisecond); n < all*9/10 {
			t.Errorf("alone it does %d pieces, want %d", n, all)
		}
		other.Wait(ctx, piece)
		if n := b.during(100 * time.Millisecond); n > 2*eighth {
			t.Errorf("beside another it does %d pieces, want %d", n, eighth)
		}
		time.Sleep(recent + 2*note)
		if n := b.during(100 * time.Millisecond); n < all*9/10 {
			t.Errorf("when the other has had no work for long it does %d pieces, want %d", n, all)
		}
		cancel()
		b.workers.Wait()
	})
}

// One thing at a time is nobody's flood.
func TestOneAfterTheOtherDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(1)
		one, other := b.m.Join(), b.m.Join()
		other.Wait(t.Context(), piece)
		one.Begin()
		defer one.End()
		for range 1000 {
			if d := took(func() { one.Heed(t.Context(), time.Second) }); d > 0 {
				t.Fatalf("it waits %v", d)
			}
		}
		one.Wait(t.Context(), time.Second)
		if d := took(func() { one.Wait(t.Context(), piece) }); d == 0 {
			t.Error("what always waits did not")
		}
	})
}

// Many that flood together leave a part to one that comes.
func TestA75_ManyThatFloodLeaveAPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(1)
		ctx, cancel := context.WithCancel(t.Context())
		for range 9 {
			b.flood(ctx, b.m.Join(), 64)
		}
		time.Sleep(time.Second)
		before := b.m.used()
		time.Sleep(time.Second)
		if got := (b.m.used() - before).Seconds(); got < 6.5 || got > 7.9 {
			t.Errorf("nine have %.2f s of 8 processors, want 7.2", got)
		}
		cancel()
		b.workers.Wait()
	})
}

// Who waits is let go when its jail ends, and a jail that has left counts no more.
func TestWhoWaitsIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(1)
		one, other := b.m.Join(), b.m.Join()
		other.Wait(t.Context(), piece)
		one.Wait(t.Context(), time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if d := took(func() { one.Wait(ctx, piece) }); d != time.Second {
			t.Errorf("it waited %v for the end of its context", d)
		}
		other.Leave()
		if d := took(func() { one.Wait(t.Context(), piece) }); d > 0 {
			t.Errorf("alone again it waits %v", d)
		}
		var none *Share
		none.Begin()
		none.Wait(t.Context(), time.Hour)
		none.Heed(t.Context(), time.Hour)
		none.End()
	})
}

// BenchmarkAlone is what a piece of work costs a jail that nobody is beside.
func BenchmarkAlone(b *testing.B) {
	s := New(8, func() time.Duration { return 0 }).Join()
	for b.Loop() {
		s.Heed(b.Context(), piece)
	}
}
