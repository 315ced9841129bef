package guard

import (
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
)

func none(netip.Addr) bool { return false }
func all(netip.Addr) bool  { return true }

// TestS13_Guard is the table of addresses, each with and without every opt-in.
func TestS13_Guard(t *testing.T) {
	own := func(a netip.Addr) bool { return a == netip.MustParseAddr("93.184.216.1") }
	for _, tt := range []struct {
		addr string
		code Class // without an opt-in
		open bool  // an opt-in lets it through
	}{
		{"93.184.216.34", Public, true}, {"2606:2800:220:1::1", Public, true}, {"2a00:1450::1", Public, true},
		{"10.0.0.1", Private, true}, {"172.16.0.1", Private, true},
		{"172.32.0.1", Public, true}, {"192.168.1.1", Private, true},
		{"100.64.0.1", Private, true}, {"100.128.0.1", Public, true},
		{"169.254.1.1", Private, true}, {"192.0.2.1", Private, true},
		{"198.18.0.7", Private, true}, {"198.51.100.1", Private, true},
		{"203.0.113.1", Private, true}, {"224.0.0.1", Private, true},
		{"240.0.0.1", Private, true}, {"255.255.255.255", Private, true},
		{"0.0.0.1", Private, true}, {"192.88.99.1", Private, true},
		{"fc00::1", Private, true}, {"fe80::1", Private, true},
		{"ff02::1", Private, true}, {"2001:db8::1", Private, true},
		{"100::1", Private, true}, {"2001::1", Private, true},
		{"2002:5db8:d822::1", Private, true}, {"5f00::1", Private, true},
		{"::ffff:10.0.0.1", Private, true}, {"::ffff:93.184.216.34", Public, true},
		{"64:ff9b::5db8:d822", Public, true}, {"64:ff9b::a00:1", Private, true},
		{"64:ff9b:1::5db8:d822", Private, true},
		{"192.0.0.8", Private, true}, {"192.31.196.1", Private, true}, {"192.52.193.1", Private, true},
		{"192.175.48.1", Private, true}, {"198.19.255.254", Private, true}, {"239.255.255.250", Private, true},
		{"172.31.255.254", Private, true}, {"100.127.255.254", Private, true}, {"fd12:3456::1", Private, true},
		{"fec0::1", Private, true}, {"ff0e::1", Private, true}, {"2001:2::1", Private, true},
		{"2001:10::1", Private, true}, {"2001:20::1", Private, true}, {"3fff::1", Private, true},
		{"2620:4f:8000::1", Private, true}, {"100:0:0:1::1", Private, true}, {"4000::1", Private, true},
		{"::ffff:0:5db8:d822", Private, true}, // translated (RFC 2765): nobody routes it

		{"127.0.0.1", Own, false}, {"127.9.9.9", Own, false},
		{"::1", Own, false}, {"0.0.0.0", Own, false},
		{"::", Own, false}, {"93.184.216.1", Own, false},
		{"::ffff:127.0.0.1", Own, false}, {"64:ff9b::7f00:1", Own, false},
		{"2002:7f00:1::1", Own, false}, {"::127.0.0.1", Own, false},
		{"2002:5db8:d801::1", Own, false}, {"2001:0:1:2:3:4:80ff:fffe", Own, false}, // 127.0.0.1, inverted

		{"169.254.169.254", Metadata, false}, {"169.254.170.2", Metadata, false},
		{"fd00:ec2::254", Metadata, false}, {"100.100.100.200", Metadata, false},
		{"168.63.129.16", Metadata, false}, {"192.0.0.192", Metadata, false},
		{"::ffff:169.254.169.254", Metadata, false}, {"64:ff9b::a9fe:a9fe", Metadata, false},
		{"2002:a9fe:a9fe::1", Metadata, false},
		{"169.254.42.42", Metadata, false}, {"fd00:42::42", Metadata, false}, {"169.254.0.23", Metadata, false},
		{"fd00:a9fe:a9fe::1", Metadata, false}, {"fe80::a9fe:a9fe", Metadata, false}, {"fe80::a9fe:a9fe%eth0", Metadata, false},
		{"fd00:c1::a9fe:a9fe", Metadata, false}, {"fd20:ce::254", Metadata, false}, {"::ffff:169.254.42.42", Metadata, false},
	} {
		a := netip.MustParseAddr(tt.addr)
		if got := Judge(a, View{own, none, none}); got != tt.code {
			t.Errorf("%s: %d, want %d", tt.addr, got, tt.code)
		}
		if got := Judge(a, View{own, all, none}); (got == Public) != tt.open {
			t.Errorf("%s with every opt-in: %d", tt.addr, got)
		}
		if got := Judge(a, View{own, all, all}); got == Public || got < tt.code && !tt.open {
			t.Errorf("%s denied: %d", tt.addr, got)
		}
	}
}

// TestS13_NoWayRoundTheTable holds for random addresses: what is not global unicast,
// or is in a range that a document of the IANA keeps, is never public, whatever it
// is wrapped in; and a wrapping is never better than what it wraps.
func TestS13_NoWayRoundTheTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	view := View{none, none, none}
	for range 200_000 {
		var v4 [4]byte
		var v6 [16]byte
		for i := range v6 {
			v6[i] = byte(rng.Uint32())
		}
		copy(v4[:], v6[:])
		if rng.IntN(2) == 0 { // half of them in the part that is routed
			v6[0] = 0x20 | v6[0]&0x1f
		}
		a := netip.AddrFrom4(v4)
		class := Judge(a, view)
		for _, b := range []netip.Addr{a, netip.AddrFrom16(v6)} {
			if (!net.IP(b.AsSlice()).IsGlobalUnicast() || b.IsPrivate() || b.IsInterfaceLocalMulticast()) && Judge(b, view) == Public {
				t.Fatalf("%v is public", b)
			}
		}
		for _, w := range wrappings(v4) {
			if got := Judge(w, view); got < class {
				t.Fatalf("%v is %d, what it wraps %d", w, got, class)
			}
		}
	}
}

// wrappings are the IPv6 addresses that lead to an IPv4 one.
func wrappings(a [4]byte) []netip.Addr {
	at := func(prefix string, where int, a [4]byte) netip.Addr {
		b := netip.MustParseAddr(prefix).As16()
		copy(b[where:], a[:])
		return netip.AddrFrom16(b)
	}
	inverted := [4]byte{^a[0], ^a[1], ^a[2], ^a[3]}
	return []netip.Addr{
		at("::ffff:0:0", 12, a), at("64:ff9b::", 12, a), at("64:ff9b:1::", 12, a), at("2002::1", 2, a),
		at("2001:0:102:304::", 12, inverted),
	}
}

// TestNodeAddrs holds that every address of the node's interfaces is known.
func TestNodeAddrs(t *testing.T) {
	own, err := NodeAddrs()
	if err != nil {
		t.Fatal(err)
	}
	loopback := false
	for _, a := range own {
		loopback = loopback || a.IsLoopback()
		if a.Is4In6() || a.Zone() != "" {
			t.Errorf("%v would be compared with nothing", a)
		}
	}
	if !loopback {
		t.Errorf("%v: no loopback", own)
	}
}
