package dnsstub

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// reverse returns the host that a name under in-addr.arpa or ip6.arpa stands for,
// if its address is one of this jail's.
func (c *Config) reverse(name string) (string, bool) {
	addr, ok := reverseAddr(strings.ToLower(name))
	if !ok {
		return "", false
	}
	return c.Names.Name(addr)
}

// reverseAddr reads the address out of 7.1.18.198.in-addr.arpa and its kin.
func reverseAddr(name string) (netip.Addr, bool) {
	if rest, ok := strings.CutSuffix(name, ".in-addr.arpa"); ok {
		labels := strings.Split(rest, ".")
		slices.Reverse(labels)
		addr, err := netip.ParseAddr(strings.Join(labels, "."))
		return addr, err == nil && addr.Is4()
	}
	rest, ok := strings.CutSuffix(name, ".ip6.arpa")
	if !ok || len(rest) != 2*32-1 {
		return netip.Addr{}, false
	}
	var b [16]byte
	for i := range 32 {
		nibble, err := strconv.ParseUint(rest[2*i:2*i+1], 16, 4)
		if err != nil || (i < 31 && rest[2*i+1] != '.') {
			return netip.Addr{}, false
		}
		b[15-i/2] |= byte(nibble) << (4 * (i % 2))
	}
	return netip.AddrFrom16(b), true
}
