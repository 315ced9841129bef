package fence

import (
	"net/netip"
	"os"
	"strings"
)

// Resolvers lists whom a Go program on this node asks for names, by the file that
// says so; without one, or with none in it, that is the node itself.
func Resolvers(file string) []netip.AddrPort {
	text, err := os.ReadFile(file)
	if err != nil {
		text = nil
	}
	var list []netip.AddrPort
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "nameserver" {
			continue
		}
		if a, err := netip.ParseAddr(f[1]); err == nil && len(list) < maxResolvers {
			list = append(list, netip.AddrPortFrom(a.WithZone("").Unmap(), 53))
		}
	}
	if len(list) == 0 {
		list = []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:53"), netip.MustParseAddrPort("[::1]:53")}
	}
	return list
}

// maxResolvers is how many a Go program looks at.
const maxResolvers = 3
