package mitm

import (
	"sync"
	"time"
)

// bucket is a token bucket. It bounds what a jail can make us write into the
// audit by asking for what it may not have.
type bucket struct {
	burst, rate float64 // tokens, tokens per second
	now         func() time.Time

	mu     sync.Mutex
	tokens float64
	last   time.Time
}

func newBucket(burst, rate float64) *bucket {
	return &bucket{burst: burst, rate: rate, now: time.Now, tokens: burst, last: time.Now()}
}

// take reports whether there was a token, and takes it.
func (b *bucket) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	b.tokens = min(b.burst, b.tokens+b.rate*now.Sub(b.last).Seconds())
	b.last = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
