package seccomp

import (
	"syscall"
	"testing"
)

// numbers of the calls with rules on arguments.
type numbers struct {
	arch                                                      uint32
	socket, clone, ioctl, personality, setrlimit, prlimit     uint32
	chmod, fchmod, fchmodat, fchmodat2, mknod, mknodat, creat uint32
	open, openat, socketpair                                  uint32
}

const none = 1023 // an architecture without the call

var (
	onAMD64 = numbers{archAMD64, 41, 56, 16, 135, 160, 302, 90, 91, 268, 452, 133, 259, 85, 2, 257, 53}
	onARM64 = numbers{archARM64, 198, 220, 29, 92, 164, 261, none, 52, 53, 452, none, 33, none, none, 56, 199}
	onI386  = numbers{archI386, 359, 120, 54, 136, 75, 340, 15, 94, 306, 452, 14, 297, 8, 5, 295, 360}
)

type argCase struct {
	what   string
	nr     uint32
	args   [6]uint64
	answer int
}

func args(a ...uint64) (six [6]uint64) {
	copy(six[:], a)
	return six
}

const (
	noFamily   = int(syscall.EAFNOSUPPORT)
	noProtocol = int(syscall.EPROTONOSUPPORT)
)

func argCases(n numbers) []argCase {
	var cases []argCase
	add := func(what string, nr uint32, answer int, a ...uint64) {
		if nr != none {
			cases = append(cases, argCase{what, nr, args(a...), answer})
		}
	}
	for family := range uint64(64) {
		switch family {
		case 1, 2, 10, 16:
			add("socket of a good family", n.socket, 0, family, 1, 0)
		default:
			add("socket of another family", n.socket, noFamily, family, 1, 0)
		}
	}
	add("pair of unix sockets", n.socketpair, 0, 1, 1, 0)
	add("pair of another family", n.socketpair, noFamily, 30, 1, 0)
	add("family beyond all", n.socket, noFamily, 0x80000001, 1, 0)
	add("mptcp", n.socket, noProtocol, 2, 1, 262)
	add("mptcp6", n.socket, noProtocol, 10, 1|02000000, 262)
	add("audit netlink", n.socket, noProtocol, 16, 3, 9)
	add("kobject netlink", n.socket, noProtocol, 16, 3, 15)

	for _, bit := range []uint64{0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000} {
		add("clone into a namespace", n.clone, eperm, bit|17)
		add("clone into two", n.clone, eperm, bit|0x10000000|17)
	}
	add("fork", n.clone, 0, 0x01200000|17)
	add("thread", n.clone, 0, 0x50f00)

	add("TIOCSTI", n.ioctl, eperm, 0, 0x5412)
	add("TIOCLINUX", n.ioctl, eperm, 0, 0x541c)
	add("TIOCGWINSZ", n.ioctl, 0, 0, 0x5413)

	add("personality asked", n.personality, 0, 0xffffffff)
	add("no randomisation", n.personality, eperm, 0x0040000)
	add("another personality", n.personality, eperm, 8)
	add("executable data", n.personality, eperm, 0x0400000)

	add("core limit", n.setrlimit, eperm, 4, 0x1000)
	add("file limit", n.setrlimit, 0, 7, 0x1000)
	add("core prlimit", n.prlimit, eperm, 0, 4, 0x1000, 0)
	add("core prlimit read", n.prlimit, 0, 0, 4, 0, 0x1000)
	add("file prlimit", n.prlimit, 0, 0, 7, 0x1000, 0)
	return append(cases, setuidCases(n)...)
}

func setuidCases(n numbers) []argCase {
	var cases []argCase
	add := func(what string, nr uint32, answer int, a ...uint64) {
		if nr != none {
			cases = append(cases, argCase{what, nr, args(a...), answer})
		}
	}
	for _, call := range []struct {
		nr   uint32
		mode int // index of the mode
	}{{n.chmod, 1}, {n.fchmod, 1}, {n.fchmodat, 2}, {n.fchmodat2, 2}, {n.mknod, 1}, {n.mknodat, 2}, {n.creat, 1}} {
		with, without := make([]uint64, 6), make([]uint64, 6)
		with[call.mode], without[call.mode] = 04755, 02755
		add("setuid mode", call.nr, eperm, with...)
		add("plain mode", call.nr, 0, without...)
	}
	const creat, tmpfile = 0100, 020000000
	for _, makes := range []uint64{creat, tmpfile, creat | 02 | 01000} {
		add("open makes setuid", n.open, eperm, 0, makes, 04755)
		add("openat makes setuid", n.openat, eperm, 0, 0, makes, 04755)
		add("openat makes a plain file", n.openat, 0, 0, 0, makes, 0644)
	}
	add("open with a stale mode register", n.open, 0, 0, 0, 04755)
	add("openat with a stale mode register", n.openat, 0, 0, 0, 0, 04755)
	return cases
}

// The kernel reads the low half of an int argument, so whatever stands in the
// high half changes no answer.
func TestS29_ArgumentsAndTheirHighHalves(t *testing.T) {
	for file, n := range map[string]numbers{
		"amd64-default": onAMD64, "arm64-default": onARM64, "amd64-compat_abi": onI386,
	} {
		filter := open(t, file)
		for _, c := range argCases(n) {
			for _, high := range []uint64{0, 1 << 32, 0xffffffff << 32, 0x8000000100000000} {
				a := c.args
				for i := range a {
					if pointer := c.nr == n.prlimit && i == 2; !pointer {
						a[i] |= high
					}
				}
				if got := filter.answer(t, call{n.arch, c.nr, a}); got != c.answer {
					t.Errorf("%s: %s %#x answers %d, want %d", file, c.what, a, got, c.answer)
				}
			}
		}
	}
}

// A pointer is 64 bits, and one whose low half is zero is not null.
func TestS29_CoreLimitByAPointerWithAZeroLowHalf(t *testing.T) {
	filter := open(t, "amd64-default")
	c := call{archAMD64, onAMD64.prlimit, args(0, 4, 0x7f0000000000)}
	if got := filter.answer(t, c); got != eperm {
		t.Fatalf("prlimit64 with new limit at %#x answers %d", c.args[2], got)
	}
}

func TestOuterLeavesTheCoreLimitToInit(t *testing.T) {
	filter := open(t, "amd64-outer")
	for _, c := range []call{
		{archAMD64, onAMD64.prlimit, args(0, 4, 0x1000)},
		{archAMD64, onAMD64.setrlimit, args(4, 0x1000)},
	} {
		if got := filter.answer(t, c); got != 0 {
			t.Errorf("call %d answers %d", c.nr, got)
		}
	}
}
