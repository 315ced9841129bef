package daemon

import (
	"errors"
	"testing"
	"testing/synctest"
)

// part is a thing that knows whether it was dropped.
type part struct {
	age    int
	closed bool
}

func (p *part) Close() error {
	p.closed = true
	return nil
}

func whatever(*part) bool { return true }

func TestStockHandsEachThingOutOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		built := 0
		s := newStock(2, func() (*part, error) { built++; return &part{}, nil })
		seen := map[*part]bool{}
		for range 3 {
			synctest.Wait()
			for range 2 {
				p, ok := s.take(whatever)
				if !ok || seen[p] || p.closed {
					t.Fatalf("taken: %v, seen before %v", ok, seen[p])
				}
				seen[p] = true
			}
			synctest.Wait()
			if _, ok := s.take(whatever); ok {
				t.Fatal("more was made although nobody had asked for it")
			}
			s.refill()
			s.refill()
		}
		s.close()
		if built > 8 {
			t.Errorf("%d built for 6 taken and 2 ready", built)
		}
	})
}

func TestStockDropsWhatFitsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		age, all := 1, []*part{}
		s := newStock(3, func() (*part, error) {
			p := &part{age: age}
			all = append(all, p)
			return p, nil
		})
		synctest.Wait()
		age = 2
		young := func(p *part) bool { return p.age == 2 }
		if _, ok := s.take(young); ok {
			t.Fatal("an old thing was handed out")
		}
		s.refill()
		synctest.Wait()
		taken, ok := s.take(young)
		if !ok {
			t.Fatal("none was made anew")
		}
		s.close()
		for i, p := range all {
			if p.closed == (p == taken) {
				t.Errorf("thing %d of age %d: taken %v, dropped %v", i, p.age, p == taken, p.closed)
			}
		}
	})
}

func TestStockMakesAnewWhatWasSiftedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := []*part{}
		s := newStock(2, func() (*part, error) {
			made = append(made, &part{age: len(made)})
			return made[len(made)-1], nil
		})
		synctest.Wait()
		s.sift(func(p *part) bool { return p.age > 0 })
		synctest.Wait()
		for age := 1; age <= 2; age++ {
			if p, ok := s.take(whatever); !ok || p.age != age || p.closed {
				t.Errorf("taken: %v, %+v instead of the one of age %d", ok, p, age)
			}
		}
		if !made[0].closed || len(made) != 3 {
			t.Errorf("%d made; the first dropped: %v", len(made), made[0].closed)
		}
		s.close()
	})
}

func TestStockAsksAgainAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, broken := 0, true
		s := newStock(2, func() (*part, error) {
			asked++
			if broken {
				return nil, errors.New("no space left")
			}
			return &part{}, nil
		})
		synctest.Wait()
		if _, ok := s.take(whatever); ok || asked != 1 {
			t.Fatalf("taken: %v, after %d attempts", ok, asked)
		}
		broken = false
		s.refill()
		synctest.Wait()
		if _, ok := s.take(whatever); !ok {
			t.Error("nothing was made after the failure had passed")
		}
		s.close()
	})
}

// slow is a thing that takes its time to end.
type slow chan struct{}

func (s slow) Close() error {
	<-s
	return nil
}

func TestStockLetsNobodyWaitForWhatItDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ends := make(slow)
		s := newStock(1, func() (slow, error) { return ends, nil })
		synctest.Wait()
		taken := false
		go func() {
			s.take(func(slow) bool { return false })
			taken = true
		}()
		synctest.Wait()
		if !taken {
			t.Error("a start waits for the end of what it has no use for")
		}
		close(ends)
		s.close()
	})
}
