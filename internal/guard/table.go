package guard

import "net/netip"

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
	"169.254.169.254", "169.254.170.2", "169.254.170.23", "169.254.169.253", "169.254.169.123", // AWS's are most others' too
	"fd00:ec2::254", "fd00:ec2::23", "fd00:ec2::253", "fd00:ec2::123",
	"fd20:ce::254",                      // Google
	"168.63.129.16",                     // Azure
	"192.0.0.192", "fd00:c1::a9fe:a9fe", // Oracle
	"100.100.100.200", "169.254.0.23", // Alibaba, Tencent
	"169.254.42.42", "fd00:42::42", // Scaleway
	"fd00:a9fe:a9fe::1", "fe80::a9fe:a9fe", // Linode, OpenStack
)

// metadataNames lead there.
var metadataNames = map[string]bool{
	"metadata.google.internal":   true,
	"metadata.goog":              true,
	"instance-data":              true,
	"metadata.tencentyun.com":    true,
	"api.metadata.cloud.ibm.com": true,
}

// MetadataName reports whether a lower-case name is one of a metadata service's,
// to be refused before it is looked up.
func MetadataName(host string) bool { return metadataNames[host] }

var (
	prefixMapped     = netip.MustParsePrefix("::ffff:0:0/96")
	prefixCompat     = netip.MustParsePrefix("::/96")
	prefixNAT64      = netip.MustParsePrefix("64:ff9b::/96")
	prefixNAT64Local = netip.MustParsePrefix("64:ff9b:1::/48")
	prefix6to4       = netip.MustParsePrefix("2002::/16")
	prefixTeredo     = netip.MustParsePrefix("2001::/32")
)

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
