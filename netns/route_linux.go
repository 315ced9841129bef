package netns

import (
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// makeEverythingLocal brings lo up and makes each address of both families local
// to the calling thread's namespace (AnyIP).
func makeEverythingLocal() error {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("open netlink: %w", err)
	}
	defer h.Close()
	lo, err := h.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find lo: %w", err)
	}
	if err := h.LinkSetUp(lo); err != nil {
		return fmt.Errorf("set lo up: %w", err)
	}
	err = h.RouteAdd(localRoute(lo, net.IPv4zero.To4(), netlink.SCOPE_HOST))
	if err != nil {
		return fmt.Errorf("make 0.0.0.0/0 local: %w", err)
	}
	err = h.RouteAdd(localRoute(lo, net.IPv6zero, netlink.SCOPE_UNIVERSE))
	if err != nil && !noIPv6(err) {
		return fmt.Errorf("make ::/0 local: %w", err)
	}
	return nil
}

func localRoute(dev netlink.Link, zero net.IP, scope netlink.Scope) *netlink.Route {
	return &netlink.Route{
		LinkIndex: dev.Attrs().Index,
		Dst:       &net.IPNet{IP: zero, Mask: net.CIDRMask(0, 8*len(zero))},
		Type:      unix.RTN_LOCAL,
		Table:     unix.RT_TABLE_MAIN,
		Scope:     scope,
	}
}

// noIPv6 reports whether err says that this kernel runs without IPv6. Then the
// jail cannot make such a socket either, and IPv4 is all there is.
func noIPv6(err error) bool {
	return errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EOPNOTSUPP)
}
