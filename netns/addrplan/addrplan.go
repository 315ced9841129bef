// Package addrplan says which addresses mean what inside a jail. A jail's
// network is nothing but loopback with every address local to it, so the plan is
// ours to make: 198.18.0.0/15 (RFC 2544, never routed) and one unique local IPv6
// prefix stand for names, and the first 256 of each for the node's own sockets.
package addrplan

import "net/netip"

// The prefixes that synthetic addresses are taken from. Both number hosts alike:
// the name at 198.18.1.7 is also at fd6f:6d6e:696a::107.
var (
	Names4 = netip.MustParsePrefix("198.18.0.0/15")
	Names6 = netip.MustParsePrefix("fd6f:6d6e:696a::/64")
)

// The addresses that the catch-all listeners are bound to. They are not
// wildcards, so no port is taken away from the jail.
var (
	Listen4 = netip.MustParseAddr("198.18.0.1")
	Listen6 = netip.MustParseAddr("fd6f:6d6e:696a::1")
)

// Reserved is how many host numbers at the start of each prefix never stand for
// a name; Hosts is how many there are in all.
const (
	Reserved = 256
	Hosts    = 1 << 17
)

// Resolver is the name server that a jail's resolv.conf names. Any other address
// would do: port 53 is answered at all of them.
var Resolver = netip.MustParseAddr("198.18.0.53")

// Host returns the pair of addresses with the given host number, which must be
// below Hosts.
func Host(number uint32) (v4, v6 netip.Addr) {
	a4, a6 := Names4.Addr().As4(), Names6.Addr().As16()
	for i := range 3 {
		octet := byte(number >> (8 * i))
		a4[3-i] += octet // 198.18.0.0 + number never carries: a /15 starts on an even octet
		a6[15-i] = octet
	}
	return netip.AddrFrom4(a4), netip.AddrFrom16(a6)
}

// Number is the inverse of Host: the host number of an address of either prefix.
func Number(a netip.Addr) (uint32, bool) {
	a = a.Unmap()
	switch {
	case Names4.Contains(a):
		b := a.As4()
		return uint32(b[1]&1)<<16 | uint32(b[2])<<8 | uint32(b[3]), true
	case Names6.Contains(a):
		b := a.As16()
		n := uint64(b[13])<<16 | uint64(b[14])<<8 | uint64(b[15])
		for _, high := range b[8:13] {
			if high != 0 {
				return 0, false
			}
		}
		return uint32(n), n < Hosts
	}
	return 0, false
}
