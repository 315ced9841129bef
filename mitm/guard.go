package mitm

import (
	"net"
	"net/netip"

	"github.com/omnijail/omnijail/internal/audit"
)

// special lists every prefix that is not the public internet. Go's own
// predicates know half of them.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
	"172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"::/3", // unspecified, loopback, v4-mapped and -compatible, discard; nothing here is global unicast
	"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
	"4000::/2", "8000::/1", // all that is not 2000::/3: reserved, ULA, link-local, multicast
)

// metadata lists where clouds hand credentials to whoever asks. No opt-in opens these.
var metadata = addrs(
	"169.254.169.254", "169.254.170.2", "169.254.170.23", "169.254.169.253", "169.254.169.123",
	"fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192",
)

// metadataNames are refused before they are looked up.
var metadataNames = map[string]bool{
	"metadata.google.internal": true,
	"metadata.goog":            true,
	"instance-data":            true,
}

// judgeAddr classifies one address for a dial. It returns no code when the
// address may be dialled. own says which addresses are the node's.
func judgeAddr(a netip.Addr, own func(netip.Addr) bool, exempt func(netip.Addr) bool) audit.Code {
	a = a.WithZone("").Unmap()
	for inner, ok := a, true; ok; inner, ok = embedded(inner) {
		if metadata[inner] {
			return audit.CodeMetadata
		}
		if inner.IsLoopback() || inner.IsUnspecified() || own(inner) {
			return audit.CodeOwnAddress
		}
	}
	if prefixNAT64.Contains(a) {
		// Where DNS64 is in use every IPv4 service looks like this: what counts
		// is the address behind the translator.
		a, _ = embedded(a)
	}
	if !isSpecial(a) || exempt(a) {
		return ""
	}
	return audit.CodePrivate
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

var (
	prefixCompat     = netip.MustParsePrefix("::/96")
	prefixNAT64      = netip.MustParsePrefix("64:ff9b::/96")
	prefixNAT64Local = netip.MustParsePrefix("64:ff9b:1::/48")
	prefix6to4       = netip.MustParsePrefix("2002::/16")
	prefixTeredo     = netip.MustParsePrefix("2001::/32")
)

// ownAddrs lists the node's addresses as they are now: an address that came up
// after the start counts too. If they cannot be listed every address is our own,
// so that nothing is dialled on a guess.
func ownAddrs() func(netip.Addr) bool {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return func(netip.Addr) bool { return true }
	}
	own := make(map[netip.Addr]bool, len(list))
	for _, n := range list {
		if ipn, ok := n.(*net.IPNet); ok {
			if a, ok := netip.AddrFromSlice(ipn.IP); ok {
				own[a.Unmap()] = true
			}
		}
	}
	return func(a netip.Addr) bool { return own[a] }
}

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

func addrs(list ...string) map[netip.Addr]bool {
	out := make(map[netip.Addr]bool, len(list))
	for _, s := range list {
		out[netip.MustParseAddr(s)] = true
	}
	return out
}
