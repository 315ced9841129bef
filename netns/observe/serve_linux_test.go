package observe_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/ownthread"
	"github.com/omnijail/omnijail/netns"
	"github.com/omnijail/omnijail/netns/observe"
)

// newNet is a namespace in which refused packets are seen.
func newNet(t *testing.T, way netns.Interception) *netns.Net {
	t.Helper()
	n, err := netns.New(way)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	if err := n.Open(netns.Opening{Packets: true, Ports: []uint16{443}}); err != nil {
		t.Fatal(err)
	}
	return n
}

// from runs f on a thread in n.
func from(t *testing.T, n *netns.Net, f func()) {
	t.Helper()
	err := ownthread.Run(func() error {
		if err := unix.Setns(int(n.FD().Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		f()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// send sends one datagram. How it ends does not matter.
func send(to string) {
	addr := net.UDPAddrFromAddrPort(netip.MustParseAddrPort(to))
	if c, err := net.ListenUDP("udp", nil); err == nil {
		c.WriteTo([]byte("x"), addr)
		c.Close()
	}
}

// last is where the last datagram of a test goes.
const last = "10.255.255.255:1"

// seen is what n's socket shows until a datagram to last is among it, and no fewer
// than least; sorted, without that datagram. The kernel may deliver late, and in
// another order.
func seen(t *testing.T, n *netns.Net, least int) (out []string) {
	t.Helper()
	from(t, n, func() { send(last) })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	over := false
	observe.Serve(ctx, n.Sockets().Packets, func(a observe.Attempt) {
		if a.To.String() == last {
			over = true
		} else {
			out = append(out, a.Protocol+" "+a.To.String())
		}
		if over && len(out) >= least {
			cancel()
		}
	})
	slices.Sort(out)
	return out
}

func TestTheKernelShowsWhatItRefused(t *testing.T) {
	steered, byPort := newNet(t, netns.Steered), newNet(t, netns.ByPort)
	for _, n := range []*netns.Net{steered, byPort} {
		from(t, n, func() {
			for _, to := range []string{"10.0.0.1:443", "198.18.1.7:443", "[2001:db8::1]:443", "224.0.0.251:5353", "[ff0e::fb]:5353", "255.255.255.255:67", "10.0.0.1:443"} {
				send(to)
			}
			for _, to := range []string{"127.0.0.1:9", "[::1]:9", "198.18.0.53:53", "127.0.0.53:53"} {
				send(to) // the jail's own, or ours
			}
			for _, to := range []string{"10.0.0.1:22", "[2001:db8::1]:22", "127.0.0.1:8000", "10.0.0.1:443"} {
				if c, err := net.DialTimeout("tcp", to, time.Minute); err == nil {
					c.Close()
				}
			}
		})
		want := []string{"UDP 10.0.0.1:443", "UDP 198.18.1.7:443", "UDP [2001:db8::1]:443", "UDP 224.0.0.251:5353", "UDP [ff0e::fb]:5353", "UDP 255.255.255.255:67", "UDP 10.0.0.1:443"}
		if n == byPort {
			want = append(want, "TCP 10.0.0.1:22", "TCP [2001:db8::1]:22")
		}
		slices.Sort(want)
		if got := seen(t, n, len(want)); !slices.Equal(got, want) {
			t.Errorf("%v:\n got %q\nwant %q", n.Interception(), got, want)
		}
	}
}

// One jail's socket has nothing of another's.
func TestS10_PacketsOfOtherJailsAreNotSeen(t *testing.T) {
	one, other := newNet(t, netns.Steered), newNet(t, netns.Steered)
	from(t, one, func() { send("10.0.0.1:1") })
	from(t, other, func() { send("10.0.0.2:2") })
	if a, b := seen(t, one, 1), seen(t, other, 1); !slices.Equal(a, []string{"UDP 10.0.0.1:1"}) || !slices.Equal(b, []string{"UDP 10.0.0.2:2"}) {
		t.Errorf("%q and %q", a, b)
	}
}

// Whoever gets the socket sees no more by it: not what is carried, and nothing after
// another filter, or none, was asked for.
func TestS10_TheFilterIsLocked(t *testing.T) {
	n := newNet(t, netns.Steered)
	raw, err := n.Sockets().Packets.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) {
		all := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 16}}
		if err := unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &all[0]}); err != unix.EPERM {
			t.Errorf("another filter: %v", err)
		}
		if err := unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0); err != unix.EPERM {
			t.Errorf("no filter: %v", err)
		}
	})
}

// A flood is dropped by the kernel: what waits of it is bounded, and so is how much
// is read in a second.
func TestS22_AFloodIsReadAtABoundedRate(t *testing.T) {
	n := newNet(t, netns.Steered)
	from(t, n, func() {
		c, err := net.ListenUDP("udp4", nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		for i := range 100_000 {
			to := net.UDPAddr{IP: net.IPv4(10, byte(i>>16), byte(i>>8), byte(i)), Port: 9}
			c.WriteTo([]byte("x"), &to)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := 0
	observe.Serve(ctx, n.Sockets().Packets, func(observe.Attempt) { got++ })
	if got == 0 || got > 600 {
		t.Errorf("%d of 100,000 are read", got)
	}
}

// What is no packet ends nothing.
func TestServeGoesOnAfterMalformedFrames(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()
	defer theirs.Close()
	good := "\x45\x00\x00\x1d\x00\x00\x00\x00\x40\x11\x00\x00\x0a\x00\x00\x02\xe0\x00\x00\x01\x9c\x40\x00\x09\x00\x09\x00\x00x"
	for _, b := range []string{"", "E", "\x45" + string(make([]byte, 30)), "`", "\x60" + string(make([]byte, 60)), string(make([]byte, 200)), good} {
		if _, err := fmt.Fprint(theirs, b); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var got []string
	observe.Serve(ctx, ours, func(a observe.Attempt) {
		got = append(got, a.To.String())
		cancel()
	})
	if !slices.Equal(got, []string{"224.0.0.1:9"}) {
		t.Errorf("%q", got)
	}
}
