package daemon

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
)

func newTable() *Manager {
	m := &Manager{jails: map[jail.ID]*liveJail{}, perUID: map[uint32]int{}}
	m.empty = sync.NewCond(&m.mu)
	return m
}

// The table shows and ends a caller's own jails only; root's view is whole.
func TestS14_ViewHoldsTheCallersOwn(t *testing.T) {
	m := newTable()
	ended := map[uint32]int{}
	ids := map[uint32]jail.ID{}
	for _, uid := range []uint32{1000, 1001} {
		j := testJail(t, func(string) { ended[uid]++ })
		j.owner = uid
		m.jails[j.id], ids[uid] = j, j.id
	}
	if got := len(m.View(1000).Jails()); got != 1 {
		t.Errorf("uid 1000 sees %d jails", got)
	}
	if got := len(m.View(0).Jails()); got != 2 {
		t.Errorf("root sees %d jails", got)
	}
	_, foreign := m.View(1000).Jail(ids[1001])
	_, unknown := m.View(1000).Jail(jail.NewID())
	if foreign || unknown {
		t.Error("a foreign or unknown jail is shown")
	}
	if _, ok := m.View(1000).End(ids[1001]); ok || ended[1001] != 0 {
		t.Error("a foreign jail was ended")
	}
	if _, ok := m.View(1000).End(ids[1000]); !ok || ended[1000] != 1 {
		t.Error("the caller's own jail was not ended")
	}
}

// Admission counts per caller, and a place that was given back is free again.
func TestAdmitCountsPerCaller(t *testing.T) {
	m := newTable()
	m.perUID[1000] = 2
	if _, refused := m.admit(1000, 2); refused == nil || refused.Status != http.StatusTooManyRequests {
		t.Errorf("the third of two jails: %v", refused)
	}
	if _, refused := m.admit(1001, 2); refused != nil {
		t.Errorf("another caller: %v", refused)
	}
}

func TestDrainRefusesAndWaits(t *testing.T) {
	m := newTable()
	ticket, refused := m.admit(1000, 1)
	if refused != nil {
		t.Fatal(refused)
	}
	done := make(chan int)
	go func() { done <- m.Drain(context.Background(), 0) }()
	for { // until the drain holds
		if _, refused := m.admit(1001, 1); refused != nil {
			if refused.Code != "draining" {
				t.Errorf("refused with %q", refused.Code)
			}
			break
		} else {
			m.release(1001)
		}
	}
	ticket.Release()
	ticket.Release() // once is enough
	if left := <-done; left != 0 {
		t.Errorf("%d jails are left", left)
	}
	m.perUID[1000] = 3
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if left := m.Drain(ctx, 0); left != 3 {
		t.Errorf("a drain that was given up reports %d", left)
	}
}
