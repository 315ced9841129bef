package daemon

import (
	"context"
	"testing"
)

func TestS14_CrowdedStartsAreOneAtATimeForAUid(t *testing.T) {
	var c crowded
	done, err := c.take(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.take(ended, 1000); err == nil {
		t.Error("two of a uid have the turn")
	}
	other, err := c.take(t.Context(), 1001)
	if err != nil {
		t.Fatal(err)
	}
	other()
	done()
	done() // once is enough
	again, err := c.take(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	again()
}
