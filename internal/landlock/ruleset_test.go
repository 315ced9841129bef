package landlock

import (
	"testing"

	"github.com/landlock-lsm/go-landlock/landlock"

	"github.com/omnijail/omnijail/internal/child"
)

// A kernel refuses a ruleset with a right that it does not know, so each version
// must get its own and no more.
func TestEachABIGetsItsOwnRights(t *testing.T) {
	full := Wall{Files: true, NoListen: true}
	for _, c := range []struct {
		abi            int
		wall           Wall
		fs, net, scope uint64
	}{
		{0, full, 0, 0, 0},
		{1, full, 1<<13 - 1, 0, 0},
		{2, full, 1<<14 - 1, 0, 0},
		{3, full, 1<<15 - 1, 0, 0},
		{4, full, 1<<15 - 1, 1, 0},
		{5, full, 1<<16 - 1, 1, 0},
		{6, full, 1<<16 - 1, 1, 3},
		{7, full, 1<<16 - 1, 1, 3},
		{9, full, 1<<17 - 1, 1, 3},
		{30, full, 1<<17 - 1, 1, 3},
		{7, Wall{}, 0, 0, 3},
		{7, Wall{Files: true}, 1<<16 - 1, 0, 3},
	} {
		got := Lower(c.wall, c.abi).config
		if uint64(got.HandledAccessFS) != c.fs || uint64(got.HandledAccessNet) != c.net || uint64(got.Scoped) != c.scope {
			t.Errorf("abi %d, %+v: %v", c.abi, c.wall, got)
		}
	}
}

func TestRightsInTheKernelsWords(t *testing.T) {
	for _, c := range []struct {
		place child.Place
		abi   int
		want  string
	}{
		{child.Place{Path: "/", Rights: child.PlaceList}, 7, "{read_dir}"},
		{child.Place{Path: "/usr", Rights: child.PlaceRead | child.PlaceExecute}, 7, "{execute,read_file,read_dir}"},
		{child.Place{Path: "/dev", Rights: child.PlaceUse}, 7, "{write_file,truncate,ioctl_dev}"},
		{child.Place{Path: "/dev", Rights: child.PlaceUse}, 4, "{write_file,truncate}"},
		{child.Place{Path: "/w", Rights: child.PlaceChange}, 7,
			"{write_file,remove_dir,remove_file,make_dir,make_reg,make_sock,make_fifo,make_sym,refer,truncate}"},
		{child.Place{Path: "/w", Rights: child.PlaceChange}, 2,
			"{write_file,remove_dir,remove_file,make_dir,make_reg,make_sock,make_fifo,make_sym,refer}"},
		{child.Place{Path: "/w/f", File: true, Rights: child.PlaceRead | child.PlaceChange}, 7, "{write_file,read_file,truncate}"},
	} {
		r := Lower(Wall{Files: true, Places: []child.Place{c.place}}, c.abi)
		set := access(c.place.Rights, c.place.File) & r.config.HandledAccessFS
		if set.String() != c.want || len(r.rules) != 1 {
			t.Errorf("%+v on abi %d: %v, want %s", c.place, c.abi, set, c.want)
		}
	}
}

// Nobody gets a right that no word stands for: device nodes and, where the
// kernel scopes them, sockets of processes outside.
func TestNoWordGivesDevicesOrSockets(t *testing.T) {
	every := access(^child.Rights(0), false)
	if never := landlock.AccessFSSet(1<<6 | 1<<11 | 1<<16); every&never != 0 {
		t.Errorf("%v", every&never)
	}
}

func TestGaps(t *testing.T) {
	for abi, want := range map[int]int{0: 7, 1: 6, 2: 5, 7: 1, 9: 0} {
		if got := Gaps(abi); len(got) != want {
			t.Errorf("abi %d: %v", abi, got)
		}
	}
	if Holds(1) || !Holds(2) || ScopesPathSockets(8) || !ScopesPathSockets(9) {
		t.Error("a threshold is wrong")
	}
}
