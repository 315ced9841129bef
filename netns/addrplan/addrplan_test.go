package addrplan

import (
	"net/netip"
	"testing"
)

func TestHostAndNumberAreInverse(t *testing.T) {
	for _, tc := range []struct {
		number uint32
		v4, v6 string
	}{
		{Reserved, "198.18.1.0", "fd6f:6d6e:696a::100"},
		{0x107, "198.18.1.7", "fd6f:6d6e:696a::107"},
		{0xffff, "198.18.255.255", "fd6f:6d6e:696a::ffff"},
		{0x10000, "198.19.0.0", "fd6f:6d6e:696a::1:0"},
		{Hosts - 1, "198.19.255.255", "fd6f:6d6e:696a::1:ffff"},
	} {
		v4, v6 := Host(tc.number)
		if v4.String() != tc.v4 || v6.String() != tc.v6 {
			t.Errorf("Host(%#x) = %v, %v; want %s, %s", tc.number, v4, v6, tc.v4, tc.v6)
		}
		for _, a := range []netip.Addr{v4, v6, netip.AddrFrom16(v4.As16())} {
			if n, ok := Number(a); !ok || n != tc.number {
				t.Errorf("Number(%v) = %#x, %v; want %#x", a, n, ok, tc.number)
			}
		}
	}
}

func TestNumberRefusesOthers(t *testing.T) {
	for _, s := range []string{
		"198.17.255.255", "198.20.0.0", "127.0.0.1", "0.0.0.0", "::1",
		"fd6f:6d6e:696a::2:0", "fd6f:6d6e:696a:0:1::107", "fd6f:6d6e:696a:1::107",
	} {
		if n, ok := Number(netip.MustParseAddr(s)); ok {
			t.Errorf("Number(%s) = %#x, want none", s, n)
		}
	}
}

func TestOwnAddressesAreReserved(t *testing.T) {
	for _, a := range []netip.Addr{Listen4, Listen6, Resolver} {
		if n, ok := Number(a); !ok || n >= Reserved {
			t.Errorf("Number(%v) = %d, %v; want a number below %d", a, n, ok, Reserved)
		}
	}
}
