package guard

import (
	"fmt"
	"net"
	"net/netip"
)

// NodeAddrs lists the addresses of the node's interfaces as they are now, unmapped.
func NodeAddrs() ([]netip.Addr, error) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("list this node's addresses: %w", err)
	}
	var own []netip.Addr
	for _, n := range list {
		if ipn, ok := n.(*net.IPNet); ok {
			if a, ok := netip.AddrFromSlice(ipn.IP); ok {
				own = append(own, a.Unmap())
			}
		}
	}
	return own, nil
}
