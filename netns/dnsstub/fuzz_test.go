package dnsstub

import (
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// FuzzAnswer sends the stub anything. Whatever it answers is small, well-formed,
// for the query that was asked, and has an address for allowed names alone.
func FuzzAnswer(f *testing.F) {
	for _, name := range []string{"api.github.com.", "x.wild.example.", "denied.example.", ".", "0.1.18.198.in-addr.arpa."} {
		for _, qtype := range []dnsmessage.Type{dnsmessage.TypeA, dnsmessage.TypeAAAA, dnsmessage.TypePTR, 65} {
			f.Add(ask(f, name, qtype, nil))
		}
	}
	f.Add(ask(f, strings.Repeat("a.", 126)+"b.", dnsmessage.TypeA, func(m *dnsmessage.Message) {
		var h dnsmessage.ResourceHeader
		h.SetEDNS0(512, 0, true)
		m.Additionals = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.OPTResource{}}}
	}))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, msg []byte) {
		c, _ := stub("api.github.com")
		c.Panicked = func(v any) { t.Errorf("panic: %v", v) }
		reply := c.answer(msg)
		if reply == nil {
			return
		}
		if len(reply) > 512 {
			t.Errorf("a reply of %d bytes", len(reply))
		}
		m, _ := read(t, reply)
		if len(msg) < 2 || m.ID != uint16(msg[0])<<8|uint16(msg[1]) || !m.Response {
			t.Errorf("header %+v for query %x", m.Header, msg)
		}
		for _, r := range m.Answers {
			name := strings.TrimSuffix(strings.ToLower(m.Questions[0].Name.String()), ".")
			if _, isPointer := r.Body.(*dnsmessage.PTRResource); !isPointer && !c.Allowed(name) {
				t.Errorf("an answer for %q, which is not allowed", name)
			}
		}
	})
}

// FuzzReverseAddr checks the reading of reverse names against writing them.
func FuzzReverseAddr(f *testing.F) {
	f.Add("0.1.18.198.in-addr.arpa")
	f.Add("1.0.18.in-addr.arpa")
	f.Add(strings.Repeat("0.", 32) + "ip6.arpa")
	f.Add(strings.TrimSuffix(reverse6("fd6f6d6e696a00000000000000000101"), "."))
	f.Fuzz(func(t *testing.T, name string) {
		addr, ok := reverseAddr(name)
		if !ok {
			return
		}
		if got := writeReverse(addr); got != strings.ToLower(name) {
			t.Errorf("%q was read as %v, which is written %q", name, addr, got)
		}
	})
}

func writeReverse(a netip.Addr) string {
	if a.Is4() {
		b := a.As4()
		return netip.AddrFrom4([4]byte{b[3], b[2], b[1], b[0]}).String() + ".in-addr.arpa"
	}
	return strings.TrimSuffix(reverse6(strings.ReplaceAll(a.StringExpanded(), ":", "")), ".")
}
