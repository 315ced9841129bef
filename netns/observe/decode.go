package observe

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// Attempt is what a jail tried to send to.
type Attempt struct {
	Protocol string         // "UDP", "TCP", "ICMP", or "IP protocol 47"
	To       netip.AddrPort // with port 0 where the protocol has none
}

// protocols are those that have a name here; of the others people know the number.
var protocols = map[layers.IPProtocol]string{
	layers.IPProtocolTCP: "TCP", layers.IPProtocolUDP: "UDP", layers.IPProtocolICMPv4: "ICMP", layers.IPProtocolICMPv6: "ICMP",
	layers.IPProtocolSCTP: "SCTP", layers.IPProtocolUDPLite: "UDP-Lite", layers.IPProtocolGRE: "GRE",
}

// protocolDCCP is one that Linux has and gopacket does not name.
const protocolDCCP layers.IPProtocol = 33

// decoder takes frames apart. Its layers are used again for each.
type decoder struct {
	ip4   layers.IPv4
	ip6   layers.IPv6
	udp   layers.UDP
	tcp   layers.TCP
	icmp4 layers.ICMPv4
	icmp6 layers.ICMPv6
}

// attempt says what a frame, from the network header on, shows to have been tried;
// nothing for one that shows nothing or that cannot be read.
func (d *decoder) attempt(frame []byte) (a Attempt, ok bool) {
	defer func() {
		if recover() != nil { // of a decoder's: it is one frame that is lost
			a, ok = Attempt{}, false
		}
	}()
	p, ok := d.packet(frame)
	switch {
	case !ok:
		return Attempt{}, false
	case p.refused != nil:
		// The message goes back to the sender. What it is about is inside.
		if p, ok = d.packet(p.refused); !ok {
			return Attempt{}, false
		}
	case p.protocol == layers.IPProtocolTCP: // the reset of a connect comes from where it went
		p.to = p.from
	}
	return Attempt{Protocol: name(p.protocol), To: p.to}, true
}

// packet is what is known of one packet.
type packet struct {
	protocol layers.IPProtocol
	from, to netip.AddrPort
	refused  []byte // the packet that a message says could not be delivered
}

// packet reads the header of IP and the one behind it, and no more: a packet in a
// packet is a matter of its own. Where the second is broken, the first still says
// something.
func (d *decoder) packet(b []byte) (p packet, ok bool) {
	if len(b) == 0 {
		return p, false
	}
	var rest []byte
	switch b[0] >> 4 {
	case 4:
		if d.ip4.DecodeFromBytes(b, gopacket.NilDecodeFeedback) != nil {
			return p, false
		}
		p.protocol, rest = d.ip4.Protocol, d.ip4.Payload
		p.from, p.to = at(d.ip4.SrcIP), at(d.ip4.DstIP)
	case 6:
		if d.ip6.DecodeFromBytes(b, gopacket.NilDecodeFeedback) != nil {
			return p, false
		}
		p.protocol, rest = d.ip6.NextHeader, d.ip6.Payload
		p.from, p.to = at(d.ip6.SrcIP), at(d.ip6.DstIP)
	default:
		return p, false
	}
	d.behind(&p, rest)
	return p, p.to.Addr().IsValid() && !p.to.Addr().IsUnspecified()
}

func (d *decoder) behind(p *packet, b []byte) {
	df := gopacket.NilDecodeFeedback
	switch p.protocol {
	case layers.IPProtocolUDP:
		if d.udp.DecodeFromBytes(b, df) == nil {
			p.ports(uint16(d.udp.SrcPort), uint16(d.udp.DstPort))
		}
	case layers.IPProtocolTCP:
		if d.tcp.DecodeFromBytes(b, df) == nil {
			p.ports(uint16(d.tcp.SrcPort), uint16(d.tcp.DstPort))
		}
	case layers.IPProtocolICMPv4:
		if d.icmp4.DecodeFromBytes(b, df) == nil && d.icmp4.TypeCode.Type() == layers.ICMPv4TypeDestinationUnreachable {
			p.refused = d.icmp4.Payload
		}
	case layers.IPProtocolICMPv6:
		if d.icmp6.DecodeFromBytes(b, df) == nil && d.icmp6.TypeCode.Type() == layers.ICMPv6TypeDestinationUnreachable && len(d.icmp6.Payload) > unused {
			p.refused = d.icmp6.Payload[unused:]
		}
	}
}

// unused bytes stand before the packet in a message of ICMPv6.
const unused = 4

func (p *packet) ports(from, to uint16) {
	p.from, p.to = netip.AddrPortFrom(p.from.Addr(), from), netip.AddrPortFrom(p.to.Addr(), to)
}

func at(ip net.IP) netip.AddrPort {
	a, _ := netip.AddrFromSlice(ip) // the zero value for what is no address
	return netip.AddrPortFrom(a, 0)
}

func name(p layers.IPProtocol) string {
	if n, ok := protocols[p]; ok {
		return n
	}
	if p == protocolDCCP {
		return "DCCP"
	}
	return fmt.Sprintf("IP protocol %d", uint8(p))
}
