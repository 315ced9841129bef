package netns

import (
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/netns/addrplan"
)

// newNetWithoutAnyIP is a namespace as on a kernel that makes no foreign address
// local. On one that does, what it made is taken back.
func newNetWithoutAnyIP(t *testing.T, o Opening) *Net {
	t.Helper()
	n := newNetBy(t, ByPort)
	if n.anyIP {
		if err := n.inside(takeAnyIPBack); err != nil {
			t.Fatal(err)
		}
		n.anyIP = false
	}
	open(t, n, o)
	return n
}

func takeAnyIPBack() error {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer h.Close()
	lo, err := h.LinkByName("lo")
	if err != nil {
		return err
	}
	h.AddrDel(lo, &netlink.Addr{IPNet: netlink.NewIPNet(addrplan.Listen4.AsSlice())})
	return makeNamesLocal(h, lo)
}

// Names and the addresses of rules come to the listeners, everything else is
// refused at once. It is what runs under gVisor, by make test-gvisor.
func TestWithoutAnyIP(t *testing.T) {
	n := newNetWithoutAnyIP(t, Opening{Ports: []uint16{22, 443}, Proxy: true, Addresses: []netip.Addr{netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("2001:db8::7")}})
	answer(t, n)
	echo(t, n.Sockets().UDP[0])
	for _, dst := range []string{"198.18.0.1:443", "198.18.1.7:443", "198.19.255.254:22", "10.1.2.3:443", "[2001:db8::7]:443"} {
		if got, want := inside(t, n, "dial", "tcp", dst), "node "+dst; got != want {
			t.Errorf("dial %s: %q, want %q", dst, got, want)
		}
	}
	for _, p := range []struct{ probe, dst, want string }{
		{"dial", "198.18.1.7:80", "ECONNREFUSED"},
		{"dial", "10.0.0.1:443", "ENETUNREACH"},
		{"dial", "[fd6f:6d6e:696a::107]:443", "ENETUNREACH"},
		{"dial", "127.0.0.1:8000", "ECONNREFUSED"},
		{"datagram", "198.18.1.7:443", "ECONNREFUSED"},
		{"datagram", "8.8.8.8:443", "ENETUNREACH"},
		{"datagram", "198.18.0.53:53", "node hello"},
		{"ask", "198.18.0.53:53", "node hello from 198.18.0.53:53"},
	} {
		args := []string{p.dst}
		if p.probe == "dial" {
			args = []string{"tcp", p.dst}
		}
		if got := inside(t, n, p.probe, args...); got != p.want {
			t.Errorf("%s %s: %q, want %q", p.probe, p.dst, got, p.want)
		}
	}
	for _, tc := range []struct{ bind, dial string }{
		{"127.0.0.1:8000", "127.0.0.1:8000"}, {"0.0.0.0:80", "127.0.0.1:80"}, {"[::1]:8000", "[::1]:8000"},
	} {
		if got := inside(t, n, "serve", tc.bind, tc.dial); got != "jail" {
			t.Errorf("server on %s, dial %s: %q, want the jail's own server", tc.bind, tc.dial, got)
		}
	}
	for _, bind := range []string{"0.0.0.0:443", "[::]:443", "127.0.0.1:3128"} {
		if got := inside(t, n, "squat", bind, "198.18.1.7:443"); got != "bind: EADDRINUSE" {
			t.Errorf("squat on %s: %q, want EADDRINUSE", bind, got)
		}
	}
}

func TestConnectsAreRefusedOnceTheServerIsGoneWithoutAnyIP(t *testing.T) {
	n := newNetWithoutAnyIP(t, Opening{Ports: []uint16{443}})
	stop := answer(t, n)
	n.Forget()
	if got := inside(t, n, "dial", "tcp", "198.18.1.7:443"); got != "node 198.18.1.7:443" {
		t.Errorf("after Forget, with the server's copies open: %q", got)
	}
	stop()
	if got := inside(t, n, "dial", "tcp", "198.18.1.7:443"); got != "ECONNREFUSED" {
		t.Errorf("after the server is gone: %q, want ECONNREFUSED", got)
	}
}
