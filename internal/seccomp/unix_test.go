package seccomp

import "testing"

// A pair of datagram sockets could be connected anew to any socket with a name,
// and what the kernel reads of an argument is its low half.
func TestS05_NoUnixSocketsButConnectedPairs(t *testing.T) {
	for file, n := range map[string]numbers{"amd64-no_unix_sockets": onAMD64, "arm64-no_unix_sockets": onARM64} {
		filter := open(t, file)
		for _, c := range []argCase{
			{"stream", n.socket, args(1, 1, 0), noFamily},
			{"datagrams, not inherited", n.socket, args(1, 2|02000000, 0), noFamily},
			{"packets", n.socket, args(1, 5|04000, 0), noFamily},
			{"tcp", n.socket, args(2, 1, 0), 0},
			{"udp over 6", n.socket, args(10, 2, 0), 0},
			{"a pair of streams", n.socketpair, args(1, 1|02000000, 0), 0},
			{"a pair of packets", n.socketpair, args(1, 5, 0), 0},
			{"a pair of datagrams", n.socketpair, args(1, 2, 0), noFamily},
			{"a pair of datagrams, not blocking", n.socketpair, args(1, 2|04000, 0), noFamily},
			{"another word for it", n.socketpair, args(1, 3, 0), noFamily},
		} {
			for _, high := range []uint64{0, 1 << 32, 0xffffffff << 32} {
				a := c.args
				for i := range a {
					a[i] |= high
				}
				if got := filter.answer(t, call{n.arch, c.nr, a}); got != c.answer {
					t.Errorf("%s: %s %#x answers %d, want %d", file, c.what, a, got, c.answer)
				}
			}
		}
		if got := filter.answer(t, call{archI386, onI386.socket, args(1, 1, 0)}); got != enosys {
			t.Errorf("%s: the 32-bit ABI answers %d", file, got)
		}
	}
}
