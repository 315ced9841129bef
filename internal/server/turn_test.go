package server

import (
	"context"
	"testing"
)

// A uid that has all its turns waits for one of them; another uid does not.
func TestS14_TurnsAreAUidsOwn(t *testing.T) {
	turns := turns{users: map[uint32]*turnsOf{}}
	var done []func()
	for range maxTurns {
		d, err := turns.take(t.Context(), 1000)
		if err != nil {
			t.Fatal(err)
		}
		done = append(done, d)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := turns.take(gone, 1000); err == nil {
		t.Error("there is one turn more than there should be")
	}
	other, err := turns.take(t.Context(), 1001)
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan func())
	go func() {
		d, _ := turns.take(t.Context(), 1000)
		waiting <- d
	}()
	done[0]()
	done[0]() // once is enough
	(<-waiting)()
	for _, d := range append(done[1:], other) {
		d()
	}
	if len(turns.users) != 0 {
		t.Errorf("%d uids are remembered", len(turns.users))
	}
}
