package netns

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/netns/addrplan"
)

// makeLocal brings lo up and makes addresses local to the calling thread's
// namespace: each one of both families (AnyIP). A kernel that takes the routes and
// does not heed them, gVisor's, gets those that names stand for, in IPv4; addresses
// that rules list are added by Open. Steering needs AnyIP.
func makeLocal(way Interception) (anyIP bool, err error) {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return false, fmt.Errorf("open netlink: %w", err)
	}
	defer h.Close()
	lo, err := h.LinkByName("lo")
	if err != nil {
		return false, fmt.Errorf("find lo: %w", err)
	}
	if err := h.LinkSetUp(lo); err != nil {
		return false, fmt.Errorf("set lo up: %w", err)
	}
	err = makeEverythingLocal(h, lo)
	if err == nil && isLocal(addrplan.Listen4) {
		return true, haveBothFamilies(h, lo)
	}
	if way == Steered {
		return false, errors.Join(errors.New("addresses cannot be made local here"), err)
	}
	return false, makeNamesLocal(h, lo)
}

// makeNamesLocal makes the addresses local that names stand for, in IPv4: a device's
// prefix is local as a whole on loopback alone. Everything else is unreachable.
func makeNamesLocal(h *netlink.Handle, lo netlink.Link) error {
	for _, r := range localRoutes(lo) {
		h.RouteDel(r) // left alone, it would lead what is sent into nothing
	}
	return addAddress(h, lo, netip.PrefixFrom(addrplan.Listen4, addrplan.Names4.Bits()))
}

func makeEverythingLocal(h *netlink.Handle, lo netlink.Link) error {
	routes := localRoutes(lo)
	if err := h.RouteAdd(routes[0]); err != nil {
		return fmt.Errorf("make 0.0.0.0/0 local: %w", err)
	}
	if err := h.RouteAdd(routes[1]); err != nil && !noIPv6(err) {
		return fmt.Errorf("make ::/0 local: %w", err)
	}
	return nil
}

// haveBothFamilies gives lo an address of each family besides loopback's. Resolvers
// ask whether there is one before they look up what only that family could reach
// (AI_ADDRCONFIG).
func haveBothFamilies(h *netlink.Handle, lo netlink.Link) error {
	for _, a := range []netip.Addr{addrplan.Listen4, addrplan.Listen6} {
		if err := addAddress(h, lo, netip.PrefixFrom(a, a.BitLen())); err != nil && !noIPv6(err) {
			return err
		}
	}
	return nil
}

// localRoutes are the routes that make everything local: of IPv4, then of IPv6.
func localRoutes(lo netlink.Link) []*netlink.Route {
	return []*netlink.Route{
		localRoute(lo, net.IPv4zero.To4(), netlink.SCOPE_HOST),
		localRoute(lo, net.IPv6zero, netlink.SCOPE_UNIVERSE),
	}
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

// isLocal reports whether a socket may be bound to a, which no device has.
func isLocal(a netip.Addr) bool {
	f, err := socket(a, unix.SOCK_DGRAM, unix.IPPROTO_UDP)
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Bind(int(f.Fd()), sockaddr(a, 0)) == nil
}

// addAddresses gives lo addresses of its own, where not everything is local.
func addAddresses(addrs []netip.Addr) error {
	if len(addrs) == 0 {
		return nil
	}
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("open netlink: %w", err)
	}
	defer h.Close()
	lo, err := h.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find lo: %w", err)
	}
	for _, a := range addrs {
		if err := addAddress(h, lo, netip.PrefixFrom(a, a.BitLen())); err != nil {
			return err
		}
	}
	return nil
}

func addAddress(h *netlink.Handle, lo netlink.Link, p netip.Prefix) error {
	mask := net.CIDRMask(p.Bits(), p.Addr().BitLen())
	err := h.AddrAdd(lo, &netlink.Addr{IPNet: &net.IPNet{IP: p.Addr().AsSlice(), Mask: mask}})
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("make %v local: %w", p, err)
	}
	return nil
}

// noIPv6 reports whether err says that this kernel runs without IPv6. Then the
// jail cannot make such a socket either, and IPv4 is all there is.
func noIPv6(err error) bool {
	return errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EOPNOTSUPP)
}
