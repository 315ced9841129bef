package confine

import "testing"

func TestIdentityIsNeverRoot(t *testing.T) {
	for _, args := range [][]string{nil, {"1"}, {"1", "2", "3"}, {"0", "1"}, {"1", "0"}, {"-1", "1"}, {"4294967295", "1"},
		{"4294967296", "1"}, {"root", "1"}, {"", "1"}, {"1", " 2"}} {
		if id, err := parseIdentity(args); err == nil {
			t.Errorf("%q is taken as %+v", args, id)
		}
	}
	if id, err := parseIdentity([]string{"64790", "64791"}); err != nil || id != (identity{64790, 64791}) {
		t.Errorf("got %+v, %v", id, err)
	}
}

// TestHandledGrowsWithTheABI: a kernel refuses a ruleset with a right that it does
// not know, so each version must get its own and no more.
func TestHandledGrowsWithTheABI(t *testing.T) {
	for abi, want := range map[int][3]uint64{
		1: {1<<13 - 1, 0, 0}, 2: {1<<14 - 1, 0, 0}, 3: {1<<15 - 1, 0, 0}, 4: {1<<15 - 1, 1, 0},
		5: {1<<16 - 1, 1, 0}, 6: {1<<16 - 1, 1, 3}, 7: {1<<16 - 1, 1, 3}, 9: {1<<17 - 1, 1, 3}, 30: {1<<17 - 1, 1, 3},
	} {
		a := handled(abi)
		if got := [3]uint64{a.Handled_access_fs, a.Handled_access_net, a.Scoped}; got != want {
			t.Errorf("abi %d: %b, want %b", abi, got, want)
		}
	}
}

func TestMainRefusesOutsideANamespaceOfItsOwn(t *testing.T) {
	if err := run([]string{"64790", "64791"}); err == nil {
		t.Fatal("the test process was confined")
	}
	if code := Main(nil); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
}
