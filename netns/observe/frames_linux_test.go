package observe

import (
	"net"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	netbpf "golang.org/x/net/bpf"

	"github.com/omnijail/omnijail/netns/bpf"
)

// frame puts layers together as the kernel would.
func frame(t testing.TB, ls ...gopacket.SerializableLayer) []byte {
	t.Helper()
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true}, ls...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func ip4(p layers.IPProtocol, from, to string) *layers.IPv4 {
	return &layers.IPv4{Version: 4, TTL: 64, Protocol: p, SrcIP: net.ParseIP(from).To4(), DstIP: net.ParseIP(to).To4()}
}

func ip6(p layers.IPProtocol, from, to string) *layers.IPv6 {
	return &layers.IPv6{Version: 6, NextHeader: p, HopLimit: 64, SrcIP: net.ParseIP(from), DstIP: net.ParseIP(to)}
}

func udp(port uint16) *layers.UDP { return &layers.UDP{SrcPort: 40000, DstPort: layers.UDPPort(port)} }

func reset(port uint16, seq uint32) *layers.TCP {
	return &layers.TCP{SrcPort: layers.TCPPort(port), DstPort: 40000, Seq: seq, RST: true, ACK: true}
}

func unreachable4(t testing.TB, inner ...gopacket.SerializableLayer) []byte {
	return frame(t, ip4(layers.IPProtocolICMPv4, "10.0.0.1", "127.0.0.1"),
		&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeDestinationUnreachable, layers.ICMPv4CodePort)},
		gopacket.Payload(frame(t, inner...)))
}

func unreachable6(t testing.TB, inner ...gopacket.SerializableLayer) []byte {
	return frame(t, ip6(layers.IPProtocolICMPv6, "2001:db8::1", "::1"),
		&layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeDestinationUnreachable, layers.ICMPv6CodePortUnreachable)},
		gopacket.Payload(append(make([]byte, unused), frame(t, inner...)...)))
}

type frameCase struct {
	frame []byte
	want  string // protocol and destination; empty for a frame that the filter keeps out
}

func frames(t testing.TB) map[string]frameCase {
	tcp4, tcp6, udp4, udp6 := layers.IPProtocolTCP, layers.IPProtocolTCP, layers.IPProtocolUDP, layers.IPProtocolUDP
	options := ip4(udp4, "10.9.9.9", "10.0.0.1")
	options.Options = []layers.IPv4Option{{OptionType: 7, OptionLength: 39, OptionData: make([]byte, 37)}}
	later := ip4(udp4, "10.9.9.9", "224.0.0.1")
	later.FragOffset = 100
	echo4 := &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoRequest, 0)}
	echo6 := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeEchoRequest, 0)}
	return map[string]frameCase{
		"a datagram":                    {unreachable4(t, ip4(udp4, "10.9.9.9", "10.0.0.1"), udp(443)), "UDP 10.0.0.1:443"},
		"a datagram with options":       {unreachable4(t, options, udp(443)), "UDP 10.0.0.1:443"},
		"a datagram over IPv6":          {unreachable6(t, ip6(udp6, "2001:db8::9", "2001:db8::1"), udp(443)), "UDP [2001:db8::1]:443"},
		"another protocol, refused":     {unreachable4(t, ip4(47, "10.9.9.9", "10.0.0.1")), "GRE 10.0.0.1:0"},
		"to a group":                    {frame(t, ip4(udp4, "10.9.9.9", "224.0.0.251"), udp(5353)), "UDP 224.0.0.251:5353"},
		"to everybody":                  {frame(t, ip4(udp4, "10.9.9.9", "255.255.255.255"), udp(67)), "UDP 255.255.255.255:67"},
		"to a group of IPv6":            {frame(t, ip6(udp6, "2001:db8::9", "ff02::fb"), udp(5353)), "UDP [ff02::fb]:5353"},
		"ping":                          {frame(t, ip4(layers.IPProtocolICMPv4, "10.9.9.9", "10.0.0.1"), echo4), "ICMP 10.0.0.1:0"},
		"ping over IPv6":                {frame(t, ip6(layers.IPProtocolICMPv6, "2001:db8::9", "2001:db8::1"), echo6), "ICMP [2001:db8::1]:0"},
		"SCTP":                          {frame(t, ip4(layers.IPProtocolSCTP, "10.9.9.9", "10.0.0.1")), "SCTP 10.0.0.1:0"},
		"a protocol without a name":     {frame(t, ip6(253, "2001:db8::9", "2001:db8::1"), gopacket.Payload("x")), "IP protocol 253 [2001:db8::1]:0"},
		"a connect that nobody took":    {frame(t, ip4(tcp4, "10.0.0.1", "10.9.9.9"), reset(22, 0)), "TCP 10.0.0.1:22"},
		"over IPv6":                     {frame(t, ip6(tcp6, "2001:db8::1", "2001:db8::9"), reset(22, 0)), "TCP [2001:db8::1]:22"},
		"within a packet in a packet":   {unreachable4(t, ip4(layers.IPProtocolIPv4, "10.9.9.9", "10.0.0.1"), ip4(udp4, "10.0.0.2", "10.0.0.3"), udp(1)), "IP protocol 4 10.0.0.1:0"},
		"a reset of what was connected": {frame(t, ip4(tcp4, "10.0.0.1", "10.9.9.9"), reset(443, 7)), ""},
		"a segment":                     {frame(t, ip4(tcp4, "10.9.9.9", "10.0.0.1"), &layers.TCP{SYN: true, DstPort: 443}), ""},
		"a segment of IPv6":             {frame(t, ip6(tcp6, "2001:db8::9", "2001:db8::1"), &layers.TCP{ACK: true, DstPort: 443}), ""},
		"a question to DNS":             {frame(t, ip4(udp4, "10.9.9.9", "198.18.0.53"), udp(53)), ""},
		"a later fragment":              {frame(t, later, gopacket.Payload(make([]byte, 64))), ""},
		"joining a group":               {frame(t, ip4(layers.IPProtocolIGMP, "10.9.9.9", "224.0.0.22")), ""},
		"on the jail's loopback":        {unreachable4(t, ip4(udp4, "127.0.0.1", "127.0.0.1"), udp(8125)), ""},
		"on its loopback of IPv6":       {unreachable6(t, ip6(udp6, "::1", "::1"), udp(8125)), ""},
		"no server on its loopback":     {frame(t, ip4(tcp4, "127.0.0.1", "127.0.0.1"), reset(8000, 0)), ""},
		"nor on that of IPv6":           {frame(t, ip6(tcp6, "::1", "::1"), reset(8000, 0)), ""},
		"nothing":                       {nil, ""},
		"a byte":                        {[]byte{0x45}, ""},
		"no IP at all":                  {[]byte("this is a line of text, and so of version 7 of IP"), ""},
	}
}

// filter is the kernel's side: how much of a frame it lets through.
func filter(t testing.TB, frame []byte) []byte {
	t.Helper()
	raw, err := bpf.Refused()
	if err != nil {
		t.Fatal(err)
	}
	code, ok := netbpf.Disassemble(raw)
	if !ok {
		t.Fatal("the filter is not one")
	}
	vm, err := netbpf.NewVM(code)
	if err != nil {
		t.Fatal(err)
	}
	n, err := vm.Run(frame)
	if err != nil {
		t.Fatal(err)
	}
	return frame[:min(n, len(frame))]
}

func TestWhatWasTriedIsReadFromTheFrame(t *testing.T) {
	d := new(decoder)
	for name, c := range frames(t) {
		b := filter(t, c.frame)
		if c.want == "" {
			if len(b) > 0 {
				t.Errorf("%s passes the filter", name)
			}
			continue
		}
		a, ok := d.attempt(b)
		if got := a.Protocol + " " + a.To.String(); !ok || got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The filter lets enough through of the longest headers that a packet can have.
func TestTheFilterTakesBothHeaders(t *testing.T) {
	long := ip4(layers.IPProtocolUDP, "10.9.9.9", "10.0.0.1")
	long.Options = []layers.IPv4Option{{OptionType: 7, OptionLength: 39, OptionData: make([]byte, 37)}}
	outer := ip4(layers.IPProtocolICMPv4, "10.0.0.1", "10.9.9.9")
	outer.Options = long.Options
	b := frame(t, outer, &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(3, 3)}, gopacket.Payload(frame(t, long, udp(99), gopacket.Payload(make([]byte, 512)))))
	a, ok := new(decoder).attempt(filter(t, b))
	if want := (Attempt{"UDP", netip.MustParseAddrPort("10.0.0.1:99")}); !ok || a != want {
		t.Errorf("%v, %v", a, ok)
	}
}

// FuzzFrame reads what the filter let through, and what it would not have.
func FuzzFrame(f *testing.F) {
	for _, c := range frames(f) {
		f.Add(c.frame)
	}
	d := new(decoder)
	f.Fuzz(func(t *testing.T, b []byte) {
		b = b[:min(len(b), maxFrame)]
		a, ok := d.attempt(b)
		if !ok {
			return
		}
		if !a.To.Addr().IsValid() || a.Protocol == "" || len(a.Protocol) > len("IP protocol 255") {
			t.Errorf("%x: %+v", b, a)
		}
		if again, _ := new(decoder).attempt(b); again != a {
			t.Errorf("%x: %+v after other frames, %+v alone", b, a, again)
		}
	})
}
