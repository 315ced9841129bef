package daemon

import (
	"slices"
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
)

func TestProcessorsFitTheLimit(t *testing.T) {
	all := []uint32{0, 1, 4, 5}
	for limit, want := range map[int64]int{1: 1, 250: 1, 1000: 1, 1001: 2, 2500: 3, 4000: 0, 64000: 0} {
		firsts := map[uint32]bool{}
		for range 100 {
			got := choose(all, limit, jail.NewID())
			if len(got) != want || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != want {
				t.Fatalf("limit %d: %v, want %d of %v", limit, got, want, all)
			}
			for _, p := range got {
				if !slices.Contains(all, p) {
					t.Fatalf("limit %d: %v is not among %v", limit, got, all)
				}
				firsts[p] = true
			}
		}
		if want > 0 && len(firsts) != len(all) {
			t.Errorf("limit %d: a hundred jails were started on %v alone", limit, firsts)
		}
	}
	if got := processorList([]uint32{0, 2, 11}); got != "0,2,11" {
		t.Errorf("the list is %q", got)
	}
}
