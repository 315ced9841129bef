package seccomp

import "testing"

// What a file would have a captured scout do, on both architectures, and what its
// work needs.
func TestS17_AScoutMakesNoProcessAndNoSocket(t *testing.T) {
	const (
		thread = 0x50f00
		fork   = 17
	)
	type pair struct{ amd64, arm64 uint32 }
	for what, c := range map[string]struct {
		nr   pair
		args [6]uint64
		want int
	}{
		"a program": {pair{59, 221}, args(), eperm}, "a program by descriptor": {pair{322, 281}, args(), eperm},
		"fork": {pair{57, none}, args(), eperm}, "vfork": {pair{58, none}, args(), eperm},
		"clone of a process": {pair{56, 220}, args(fork), eperm}, "clone3": {pair{435, 435}, args(), enosys},
		"clone in a namespace": {pair{56, 220}, args(thread | 0x10000000), eperm},
		"a socket":             {pair{41, 198}, args(1, 1, 0), eperm}, "a pair": {pair{53, 199}, args(1, 1, 0), eperm},
		"connect": {pair{42, 203}, args(), eperm}, "bind": {pair{49, 200}, args(), eperm},
		"ptrace": {pair{101, 117}, args(), eperm}, "mount": {pair{165, 40}, args(), eperm},
		"a file by handle": {pair{304, 265}, args(), eperm}, "another's descriptor": {pair{438, 438}, args(), eperm},
		"the setuid bit": {pair{91, 52}, args(3, 04755), eperm},

		"a thread": {pair{56, 220}, args(thread), 0}, "openat2": {pair{437, 437}, args(), 0}, "statx": {pair{332, 291}, args(), 0},
		"getdents64": {pair{217, 61}, args(), 0}, "what came with a message": {pair{47, 212}, args(), 0},
	} {
		for file, p := range map[string]struct{ arch, nr uint32 }{
			"amd64-scout": {archAMD64, c.nr.amd64}, "arm64-scout": {archARM64, c.nr.arm64},
		} {
			if p.nr == none {
				continue
			}
			if got := open(t, file).answer(t, call{arch: p.arch, nr: p.nr, args: c.args}); got != c.want {
				t.Errorf("%s: %s answers %d, want %d", file, what, got, c.want)
			}
		}
	}
}
