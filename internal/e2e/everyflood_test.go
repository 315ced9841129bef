package e2e

import (
	"maps"
	"slices"
	"testing"
	"time"
)

// TestA75_EveryFloodIsSurvived floods the egress process of two jails from one of
// them, in every way in turn. The process is the same afterwards and stays far below
// the memory that it may use, and the other jail has had its replies all the while.
func TestA75_EveryFloodIsSurvived(t *testing.T) {
	r := newRace(t)
	n := r.floodNode(t)
	flood := r.floodJail(t, n)
	r.addJail(t, n, "neighbour")
	job := loadJob{Path: "/small", Size: 23, Clients: 1, Each: 20}
	r.ways[0].turn(t, job)
	before := egressOf(t, n)
	if len(before) != 1 {
		t.Fatalf("egress processes %v, want one for both jails", before)
	}
	long := time.Duration(min(soak(t, 3), 50)) * 100 * time.Millisecond
	for _, name := range slices.Sorted(maps.Keys(waves)) {
		over := make(chan error, 1)
		var res floodResult
		go func() { over <- flood.roll(floodJob{Flood: name, For: long}, &res) }()
		r.ways[0].turn(t, job)
		if err := <-over; err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		peak, limit := memoryOf(t, before[0])
		t.Logf("%s: %d pieces, at most %d MiB of %d", name, res.Pieces, peak>>20, limit>>20)
		if limit != 2<<30 || peak > limit/4 {
			t.Errorf("%s: at most %d bytes of %d", name, peak, limit)
		}
		if after := egressOf(t, n); !slices.Equal(before, after) {
			t.Fatalf("%s: egress processes %v before, %v after", name, before, after)
		}
	}
}
