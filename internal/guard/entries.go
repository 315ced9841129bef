package guard

import (
	"maps"
	"net/netip"
)

// Entry is one prefix of a table that a longest match is looked up in. Prefixes
// have 128 bits; IPv4 is mapped.
type Entry struct {
	Prefix netip.Prefix
	Class  Class // Public, Private, Own or Metadata
}

// Entries is the guard as such a table: what is never opened, the addresses own
// among it, and what an opt-in may open. What is never opened is there under each
// of its transition addresses that a prefix can say; Teredo, which inverts what it
// embeds, is never opened as a whole.
func Entries(own []netip.Addr) []Entry {
	// Both lie within ::/3 and are as good as what they embed.
	list := []Entry{{prefixMapped, Public}, {prefixNAT64, Public}}
	for _, p := range special {
		for _, w := range Wide(p) {
			list = append(list, Entry{w, Private})
		}
	}
	list = append(list, Entry{prefixTeredo, Own})
	never := func(p netip.Prefix, c Class) {
		for _, f := range forms(p) {
			list = append(list, Entry{f, c})
		}
	}
	for _, p := range prefixes("127.0.0.0/8", "0.0.0.0/32", "::1/128", "::/128") {
		never(p, Own)
	}
	for _, a := range own {
		never(netip.PrefixFrom(a, a.BitLen()), Own)
	}
	for a := range maps.Keys(metadata) {
		never(netip.PrefixFrom(a, a.BitLen()), Metadata)
	}
	return list
}

// Wide lists the prefixes of such a table that are as good as p: itself and, for
// IPv4, what reaches it through NAT64.
func Wide(p netip.Prefix) []netip.Prefix {
	if p.Addr().Is4() {
		return []netip.Prefix{within(prefixMapped, 12, p), within(prefixNAT64, 12, p)}
	}
	return []netip.Prefix{p.Masked()}
}

// forms lists these and, for IPv4, what embeds it and is never as good: 6to4 and
// compatible addresses.
func forms(p netip.Prefix) []netip.Prefix {
	if p.Addr().Is4() {
		return append(Wide(p), within(prefixCompat, 12, p), within(prefix6to4, 2, p))
	}
	return Wide(p)
}

// within puts an IPv4 prefix at a byte of an IPv6 prefix.
func within(outer netip.Prefix, at int, p netip.Prefix) netip.Prefix {
	b, v4 := outer.Addr().As16(), p.Masked().Addr().As4()
	copy(b[at:], v4[:])
	return netip.PrefixFrom(netip.AddrFrom16(b), 8*at+p.Bits())
}
