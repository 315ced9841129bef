package netns

import (
	"net/netip"
	"slices"
)

// Open makes the sockets of o and adds them to the Sockets. It is called once,
// before anything runs in the namespace, so that no program of a jail's can be
// there first.
func (n *Net) Open(o Opening) error {
	if n.way == Steered {
		o.Ports = nil
	}
	if n.anyIP {
		o.Addresses = nil
	}
	if len(o.Ports) == 0 && !o.Proxy && !o.Packets {
		return nil
	}
	var more Sockets
	err := n.inside(func() (err error) {
		more, err = o.open(n.families())
		return err
	})
	n.mu.Lock()
	defer n.mu.Unlock()
	n.socks.TCP = slices.Concat(n.socks.TCP, more.TCP)
	n.socks.Proxy, n.socks.Packets = more.Proxy, more.Packets
	return err
}

// open makes the sockets in the calling thread's namespace. After an error those
// that were made are still returned, for Close.
func (o Opening) open(families []family) (s Sockets, err error) {
	if err := addAddresses(o.Addresses); err != nil {
		return s, err
	}
	for _, fam := range families {
		for _, port := range o.Ports {
			f, err := listen(fam.wildcard, port)
			if err != nil {
				return s, err
			}
			s.TCP = append(s.TCP, f)
		}
		if !o.Proxy {
			continue
		}
		f, err := listenLoopback(fam.loopback, ProxyPort)
		if err != nil {
			return s, err
		}
		s.Proxy = append(s.Proxy, f)
	}
	if o.Packets {
		s.Packets, err = packets()
	}
	return s, err
}

// family is what the sockets of one address family are bound to.
type family struct{ wildcard, loopback netip.Addr }

// families are those that this kernel runs with.
func (n *Net) families() []family {
	all := []family{{netip.IPv4Unspecified(), loopback4}, {netip.IPv6Unspecified(), netip.IPv6Loopback()}}
	return all[:len(n.Sockets().UDP)]
}
