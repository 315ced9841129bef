package seccomp

import "testing"

// What a compromised egress process would try, on both architectures.
func TestS11_EgressAllowList(t *testing.T) {
	type pair struct{ amd64, arm64 uint32 }
	never := map[string]pair{
		"execve": {59, 221}, "execveat": {322, 281}, "ptrace": {101, 117}, "kill": {62, 129},
		"tkill": {200, 130}, "socketpair": {53, 199}, "memfd_create": {319, 279}, "mount": {165, 40},
		"unshare": {272, 97}, "setns": {308, 268}, "bpf": {321, 280}, "seccomp": {317, 277},
		"unlinkat": {263, 35}, "renameat2": {316, 276}, "mkdirat": {258, 34}, "fchmodat": {268, 53},
		"linkat": {265, 37}, "ioctl": {16, 29}, "process_vm_readv": {310, 270}, "pidfd_getfd": {438, 438},
		"setuid": {105, 146}, "capset": {126, 91}, "keyctl": {250, 219}, "io_uring_setup": {425, 425},
		"pwrite64": {18, 68}, "ftruncate": {77, 46}, "waitid": {247, 95}, "fork": {57, none}, "vfork": {58, none},
	}
	for file, column := range map[string]func(pair) (uint32, uint32){
		"amd64-egress": func(p pair) (uint32, uint32) { return archAMD64, p.amd64 },
		"arm64-egress": func(p pair) (uint32, uint32) { return archARM64, p.arm64 },
	} {
		filter := open(t, file)
		for name, p := range never {
			arch, nr := column(p)
			if nr == none {
				continue
			}
			if got := filter.answer(t, call{arch: arch, nr: nr}); got != eperm {
				t.Errorf("%s: %s answers %d", file, name, got)
			}
		}
	}
}

func TestS11_EgressArguments(t *testing.T) {
	const prctl, fcntl, mmap, mprotect = 157, 72, 9, 10
	n := onAMD64
	filter := open(t, "amd64-egress")
	for _, c := range []argCase{
		{"thread", n.clone, args(0x50f00), 0},
		{"fork", n.clone, args(17), eperm},
		{"vfork", n.clone, args(0x4000 | 0x100 | 17), eperm},
		{"thread in a new namespace", n.clone, args(0x50f00 | 0x10000000), eperm},
		{"clone3", 435, args(), enosys},
		{"tcp", n.socket, args(2, 1|02000000|04000, 0), 0},
		{"tcp6", n.socket, args(10, 1, 6), 0},
		{"udp", n.socket, args(2, 2|02000000, 17), 0},
		{"mptcp", n.socket, args(2, 1, 262), eperm},
		{"raw ip", n.socket, args(2, 3, 1), eperm},
		{"ping", n.socket, args(2, 2, 1), eperm},
		{"unix", n.socket, args(1, 1, 0), eperm},
		{"packet", n.socket, args(17, 3, 0), eperm},
		{"vsock", n.socket, args(40, 1, 0), eperm},
		{"route netlink", n.socket, args(16, 3|02000000, 0), 0},
		{"audit netlink", n.socket, args(16, 3, 9), eperm},
		{"read a file", n.openat, args(0, 0, 02000000), 0},
		{"write a file", n.openat, args(0, 0, 1), eperm},
		{"read and write", n.openat, args(0, 0, 2), eperm},
		{"make a file", n.openat, args(0, 0, 0100, 0600), eperm},
		{"empty a file", n.openat, args(0, 0, 01000), eperm},
		{"nameless file", n.openat, args(0, 0, 020200000), eperm},
		{"old open for writing", n.open, args(0, 1), eperm},
		{"memory", mmap, args(0, 4096, 3), 0},
		{"code", mmap, args(0, 4096, 7), eperm},
		{"memory into code", mprotect, args(0, 4096, 5), eperm},
		{"stay hidden", prctl, args(4, 0), 0},
		{"become dumpable", prctl, args(4, 1), eperm},
		{"let another trace", prctl, args(0x59616d61, 1), eperm},
		{"keep capabilities", prctl, args(8, 1), eperm},
		{"read a limit", n.prlimit, args(0, 7, 0, 0x1000), 0},
		{"set a limit", n.prlimit, args(0, 7, 0x1000), eperm},
		{"descriptor flags", fcntl, args(3, 4, 0x800), 0},
		{"signals for a descriptor", fcntl, args(3, 8, 1), eperm},
	} {
		for _, high := range []uint64{0, 1 << 32} {
			a := c.args
			for i := range a {
				if pointer := c.nr == n.prlimit && i == 2; !pointer {
					a[i] |= high
				}
			}
			if got := filter.answer(t, call{n.arch, c.nr, a}); got != c.answer {
				t.Errorf("%s %#x answers %d, want %d", c.what, a, got, c.answer)
			}
		}
	}
}
