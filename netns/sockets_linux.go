package netns

import (
	"errors"
	"fmt"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/netns/addrplan"
)

// backlog is how many connections wait to be accepted; the kernel caps it.
const backlog = 4096

const portDNS = 53

// openDatagrams makes the datagram sockets in the calling thread's namespace.
func openDatagrams() ([]*os.File, error) {
	v4, err := datagram(netip.IPv4Unspecified())
	if err != nil {
		return nil, err
	}
	v6, err := datagram(netip.IPv6Unspecified())
	if noIPv6(err) {
		return []*os.File{v4}, nil
	}
	if err != nil {
		v4.Close()
		return nil, err
	}
	return []*os.File{v4, v6}, nil
}

// openSteered makes the listeners that connections are steered to, one for each of
// that many families.
func openSteered(families int) (ls []*os.File, err error) {
	for _, a := range []netip.Addr{addrplan.Listen4, addrplan.Listen6}[:families] {
		l, err := listen(a, 0)
		if err != nil {
			return ls, err
		}
		ls = append(ls, l)
	}
	return ls, nil
}

// listen makes a listener on a port of a; 0 is an ephemeral one. It is made by hand
// because net.Listen makes MPTCP listeners, which a sockmap does not take. What it
// accepts has the wanted destination as its local address and inherits
// SO_REUSEADDR: without that, an open or just closed connection to some port 8080
// would keep a server in the jail from binding 8080. Two listeners never share an
// address by it.
func listen(a netip.Addr, port uint16) (*os.File, error) {
	f, err := socket(a, unix.SOCK_STREAM, unix.IPPROTO_TCP)
	if err != nil {
		return nil, err
	}
	fd := int(f.Fd())
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if err == nil {
		err = unix.Bind(fd, sockaddr(a, int(port)))
	}
	if err == nil {
		err = unix.Listen(fd, backlog)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("listen on %v: %w", netip.AddrPortFrom(a, port), err)
	}
	return f, nil
}

// datagram makes the socket for port 53 of every address of a family. It shares
// its port with nobody. Each datagram comes with the address it was sent to,
// because the kernel's choice for the answer, the address of lo, is another one.
func datagram(wildcard netip.Addr) (*os.File, error) {
	f, err := socket(wildcard, unix.SOCK_DGRAM, unix.IPPROTO_UDP)
	if err != nil {
		return nil, err
	}
	fd := int(f.Fd())
	if wildcard.Is4() {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
	} else {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1)
	}
	if err == nil {
		err = unix.Bind(fd, sockaddr(wildcard, portDNS))
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("bind udp port %d of %v: %w", portDNS, wildcard, err)
	}
	return f, nil
}

// socket makes a socket of a's family. One of IPv6 carries no IPv4, and may use
// an address that is local without being on a device, as any of IPv4 may.
func socket(a netip.Addr, kind, protocol int) (*os.File, error) {
	family := unix.AF_INET
	if a.Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	if err == nil && a.Is6() {
		err = errors.Join(
			unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1),
			unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_FREEBIND, 1))
		if err != nil {
			unix.Close(fd)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("make socket for %v: %w", a, err)
	}
	return os.NewFile(uintptr(fd), a.String()), nil
}

func sockaddr(a netip.Addr, port int) unix.Sockaddr {
	if a.Is4() {
		return &unix.SockaddrInet4{Port: port, Addr: a.As4()}
	}
	return &unix.SockaddrInet6{Port: port, Addr: a.As16()}
}
