package guard

import "net/netip"

// Class is what an address is to a dialler.
type Class uint8

// The classes, the worse the later.
const (
	Public   Class = iota
	Denied         // by the policy's deny_addresses
	Private        // not the public internet; an opt-in may open it
	Own            // the node itself; no opt-in opens it
	Metadata       // hands credentials to whoever asks; no opt-in opens it
)

// View is what a judgement depends on beside the address. Its functions are
// required and take addresses that are neither mapped nor have a zone.
type View struct {
	Own    func(netip.Addr) bool // the node's addresses
	Exempt func(netip.Addr) bool // private addresses that an opt-in opens
	Denied func(netip.Addr) bool // public addresses that the policy closes
}

// MetadataAddr reports whether an address is a metadata service's, or embeds one.
func MetadataAddr(a netip.Addr) bool {
	for inner, ok := a.WithZone("").Unmap(), true; ok; inner, ok = embedded(inner) {
		if metadata[inner] {
			return true
		}
	}
	return false
}

// Judge classifies one address. A transition address is also what it embeds: it is
// never better than that.
func Judge(a netip.Addr, v View) Class {
	a = a.WithZone("").Unmap()
	denied := false
	for inner, ok := a, true; ok; inner, ok = embedded(inner) {
		if metadata[inner] {
			return Metadata
		}
		if inner.IsLoopback() || inner.IsUnspecified() || v.Own(inner) {
			return Own
		}
		denied = denied || v.Denied(inner)
	}
	if prefixNAT64.Contains(a) {
		// Where DNS64 is in use every IPv4 service looks like this: what counts
		// is the address behind the translator.
		a, _ = embedded(a)
	}
	switch {
	case denied:
		return Denied
	case !isSpecial(a), v.Exempt(a):
		return Public
	}
	return Private
}

func isSpecial(a netip.Addr) bool {
	for _, p := range special {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// embedded returns the IPv4 address that an IPv6 transition address would reach:
// v4-compatible, NAT64 (also its local prefix), 6to4 and Teredo.
func embedded(a netip.Addr) (netip.Addr, bool) {
	if !a.Is6() {
		return netip.Addr{}, false
	}
	b := a.As16()
	v4 := func(at int) (netip.Addr, bool) {
		return netip.AddrFrom4([4]byte(b[at : at+4])), true
	}
	switch {
	case prefixCompat.Contains(a) && b[12] != 0,
		prefixNAT64.Contains(a), prefixNAT64Local.Contains(a):
		return v4(12)
	case prefix6to4.Contains(a):
		return v4(2)
	case prefixTeredo.Contains(a):
		for i := 12; i < 16; i++ {
			b[i] ^= 0xff // Teredo stores the client's address inverted
		}
		return v4(12)
	}
	return netip.Addr{}, false
}
