package fence

import (
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/omnijail/omnijail/internal/cgroup/cgrouptest"
	"github.com/omnijail/omnijail/internal/guard"
)

func newFence(t testing.TB, resolvers ...netip.AddrPort) *Fence {
	t.Helper()
	f, err := New(resolvers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func at(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// TestS13_FenceIsTheGuard compares the kernel's answer with the guard's, for
// addresses at both edges of every prefix, and for as many others. Datagram sockets
// are connected, which sends nothing.
func TestS13_FenceIsTheGuard(t *testing.T) {
	own, err := guard.NodeAddrs()
	if err != nil {
		t.Fatal(err)
	}
	exempt := netip.MustParsePrefix("10.20.0.0/16")
	exempt6 := netip.MustParsePrefix("fd00:1::/32")
	view := guard.View{
		Own:    func(a netip.Addr) bool { return slices.Contains(own, a) },
		Exempt: func(a netip.Addr) bool { return exempt.Contains(a) || exempt6.Contains(a) },
		Denied: func(netip.Addr) bool { return false },
	}
	c := newCaptive(t, newFence(t))
	if err := c.wall.Admit("a", Exceptions{Private: []netip.Prefix{exempt, exempt6}}); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var addrs []netip.Addr
	for _, e := range guard.Entries(own) {
		addrs = append(addrs, edges(e.Prefix, rng)...)
	}
	for _, p := range append(guard.Wide(exempt), exempt6) {
		addrs = append(addrs, edges(p, rng)...)
	}
	for _, a := range addrs {
		want := guard.Judge(a, view) != guard.Public
		if got := c.refused("udp", netip.AddrPortFrom(a, 443)); got != want {
			t.Errorf("%v: refused %v, the guard says %v", a, got, want)
		}
		if a.Is4In6() {
			if got := c.refused("udp", netip.AddrPortFrom(a.Unmap(), 443)); got != want {
				t.Errorf("%v: refused %v, the guard says %v", a.Unmap(), got, want)
			}
		}
	}
	t.Logf("%d addresses", len(addrs))
}

// edges are the first and last address of a prefix, their neighbours outside, and
// some inside.
func edges(p netip.Prefix, rng *rand.Rand) []netip.Addr {
	first := p.Masked().Addr()
	b := first.As16()
	random := b
	for bit := p.Bits(); bit < 128; bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
		if rng.IntN(2) == 0 {
			random[bit/8] |= 0x80 >> (bit % 8)
		}
	}
	last := netip.AddrFrom16(b)
	var out []netip.Addr
	for _, a := range []netip.Addr{first, last, netip.AddrFrom16(random), first.Prev(), last.Next()} {
		if a.IsValid() {
			out = append(out, a)
		}
	}
	return out
}

// TestS13_EachWayIsFenced tries every call that names a destination.
func TestS13_EachWayIsFenced(t *testing.T) {
	resolver := at("127.0.0.53:53")
	c := newCaptive(t, newFence(t, resolver))
	pin := at("127.0.0.1:8443")
	if err := c.wall.Admit("a", Exceptions{Pins: []netip.AddrPort{pin}}); err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"tcp", "udp", "send"} {
		for to, want := range map[string]bool{
			"169.254.169.254:80": true, "127.0.0.1:5432": true, "[::1]:5432": true, "10.0.0.1:443": true,
			"[::ffff:127.0.0.1]:5432": true, "[fd00:ec2::254]:80": true, "0.0.0.0:22": true, "[::]:22": true,
			"127.0.0.1:8443": false, "[::ffff:127.0.0.1]:8443": false, "127.0.0.53:53": false, "127.0.0.53:54": true,
		} {
			if got := c.refused(how, at(to)); got != want {
				t.Errorf("%s %s: refused %v, want %v", how, to, got, want)
			}
		}
	}
}

// TestS13_ExceptionsEndWithTheirJail opens for one jail and another, and closes.
func TestS13_ExceptionsEndWithTheirJail(t *testing.T) {
	f := newFence(t)
	c, other := newCaptive(t, f), newCaptive(t, f)
	private, metadata := at("10.1.2.3:443"), at("169.254.169.254:80")
	ten := Exceptions{Private: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	step := func(what string, err error, open bool) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if c.refused("udp", private) == open {
			t.Errorf("%s: open is %v, want %v", what, !open, open)
		}
		if !c.refused("udp", metadata) || !other.refused("udp", private) {
			t.Errorf("%s: more is open than was asked for", what)
		}
	}
	step("nothing", nil, false)
	step("a", c.wall.Admit("a", ten), true)
	step("b too", c.wall.Admit("b", Exceptions{All: true}), true)
	step("a ends", c.wall.Dismiss("a"), true)
	step("b changes", c.wall.Admit("b", Exceptions{}), false)
	step("b again", c.wall.Admit("b", ten), true)
	step("b ends", c.wall.Dismiss("b"), false)
}

// TestS13_ChangesReachEveryWall holds that resolvers are followed, and that what
// the node gives up the way to change stays closed.
func TestS13_ChangesReachEveryWall(t *testing.T) {
	f := newFence(t, at("127.0.0.53:53"))
	c := newCaptive(t, f)
	if err := f.Refresh([]netip.AddrPort{at("10.0.0.2:53")}); err != nil {
		t.Fatal(err)
	}
	if c.refused("udp", at("10.0.0.2:53")) || !c.refused("udp", at("127.0.0.53:53")) {
		t.Error("the resolvers are those of before")
	}
	c.wall.Close()
	f.Close()
	if !c.refused("udp", at("169.254.169.254:80")) {
		t.Error("the wall fell with the daemon's hold on it")
	}
}

func TestResolvers(t *testing.T) {
	name := filepath.Join(t.TempDir(), "resolv.conf")
	itself := []netip.AddrPort{at("127.0.0.1:53"), at("[::1]:53")}
	if got := Resolvers(name); !slices.Equal(got, itself) {
		t.Errorf("without a file: %v", got)
	}
	for text, want := range map[string][]netip.AddrPort{
		"": itself, "# nameserver 1.1.1.1\nnameserver\nnameserver x\n": itself,
		"search a\nnameserver 10.0.0.1\nnameserver\tfe80::1%eth0 \nnameserver ::ffff:10.0.0.2\nnameserver 9.9.9.9": {
			at("10.0.0.1:53"), at("[fe80::1]:53"), at("10.0.0.2:53")},
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Resolvers(name); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// BenchmarkConnect is what the programs cost one connect: pairwise with none.
func BenchmarkConnect(b *testing.B) {
	to := at("192.175.1.1:443")
	b.Run("free", func(b *testing.B) { startCaptive(b, cgrouptest.New(b)).ask(order{"udp", to, b.N}) })
	b.Run("fenced", func(b *testing.B) { newCaptive(b, newFence(b)).ask(order{"udp", to, b.N}) })
}

// BenchmarkEnclose is what a wall costs the start of an egress process.
func BenchmarkEnclose(b *testing.B) {
	f := newFence(b)
	for b.Loop() {
		b.StopTimer()
		g := cgrouptest.New(b)
		b.StartTimer()
		w, err := f.Enclose(g.Dir())
		if err != nil {
			b.Fatal(err)
		}
		w.Close()
	}
}
