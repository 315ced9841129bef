package netns

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func TestPoolKeepsItsSizeReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var built atomic.Int32
		p := newPool(3, func() (*Net, error) { built.Add(1); return &Net{}, nil })
		synctest.Wait()
		if got := built.Load(); got != 3 {
			t.Fatalf("%d built at the start, want 3", got)
		}
		seen := map[*Net]bool{}
		for i := range 10 {
			n, err := p.Take()
			if err != nil || seen[n] {
				t.Fatalf("take %d: %p, %v; seen before: %v", i, n, err, seen[n])
			}
			seen[n] = true
			n.Close()
			synctest.Wait()
		}
		if got := built.Load(); got != 13 {
			t.Errorf("%d built after 10 were taken, want 13", got)
		}
		p.Close()
		p.Close()
		if _, err := p.Take(); !errors.Is(err, ErrPoolClosed) {
			t.Errorf("take after close: %v", err)
		}
	})
}

func TestPoolWithoutSizeMakesOnDemand(t *testing.T) {
	p := newPool(0, func() (*Net, error) { return &Net{}, nil })
	defer p.Close()
	if n, err := p.Take(); n == nil || err != nil {
		t.Errorf("take: %v, %v", n, err)
	}
}

func TestPoolRecoversFromAKernelThatRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusal := errors.New("no space left")
		var refuse atomic.Bool
		var asked atomic.Int32
		refuse.Store(true)
		p := newPool(2, func() (*Net, error) {
			asked.Add(1)
			if refuse.Load() {
				return nil, refusal
			}
			return &Net{}, nil
		})
		defer p.Close()
		synctest.Wait()
		if _, err := p.Take(); !errors.Is(err, refusal) {
			t.Fatalf("take: %v, want the kernel's word", err)
		}
		synctest.Wait()
		if got := asked.Load(); got != 2 {
			t.Fatalf("the kernel was asked %d times, want once by the filler and once by Take", got)
		}
		refuse.Store(false)
		if _, err := p.Take(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := asked.Load(); got != 5 {
			t.Errorf("the kernel was asked %d times, want 5: the pool is full again", got)
		}
	})
}

func TestPoolOfRealNamespacesLeavesNothing(t *testing.T) {
	newNet(t).Close()
	before := descriptors(t)
	p := NewPool(4, Steered)
	n, err := p.Take()
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	answer(t, n)()
	if got := inside(t, n, "serve", "127.0.0.1:80", "127.0.0.1:80"); got != "jail" {
		t.Errorf("a namespace taken before the pool closed: %q", got)
	}
	n.Close()
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}
