package dnsstub

import "time"

// NewNamesPerMinute is how many names that only a wildcard rule allows a jail may
// come up with in a minute. A real program meets a few dozen in its life.
const NewNamesPerMinute = 60

// budget is a token bucket that starts full.
type budget struct {
	tokens float64
	last   time.Time
}

func newBudget() budget {
	return budget{tokens: NewNamesPerMinute, last: time.Now()}
}

// take reports whether one more name is within the budget, and counts it.
func (b *budget) take() bool {
	now := time.Now()
	b.tokens = min(NewNamesPerMinute, b.tokens+now.Sub(b.last).Minutes()*NewNamesPerMinute)
	b.last = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
