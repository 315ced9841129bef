package node

import (
	"strings"
	"testing"
)

func TestLandlockByVersion(t *testing.T) {
	for abi, want := range map[int]struct {
		cage, wall Answer
		words      string
	}{
		0: {No, No, "not in this kernel"},
		1: {Yes, No, "move between directories"},
		2: {Yes, Yes, "truncation"},
		7: {Yes, Yes, "named sockets"},
		9: {Yes, Yes, "ABI 9"},
	} {
		facts := Facts{Facts: landlocks(abi)}
		cage, wall := facts.Get(Landlock), facts.Get(Wall)
		if cage.Answer != want.cage || wall.Answer != want.wall || !strings.Contains(cage.Detail+wall.Detail, want.words) {
			t.Errorf("abi %d: %+v", abi, facts)
		}
		for _, f := range facts.Facts {
			if f.Answer != Yes && f.Fix == "" {
				t.Errorf("abi %d: %s comes without a fix", abi, f.Name)
			}
		}
	}
}
