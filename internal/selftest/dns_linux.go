package selftest

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/omnijail/omnijail/internal/jail"
)

// otherTypes are types besides A that carry data, or that send a client elsewhere.
var otherTypes = []struct {
	name string
	kind dnsmessage.Type
}{
	{"aaaa", dnsmessage.TypeAAAA}, {"mx", dnsmessage.TypeMX}, {"ns", dnsmessage.TypeNS}, {"srv", dnsmessage.TypeSRV}, {"txt", dnsmessage.TypeTXT},
	{"https", 65}, {"svcb", 64}, {"caa", 257}, {"dnskey", 48}, {"loc", 29},
}

// dnsAttempts carry bytes out in questions, or answers in.
func dnsAttempts() (out []Attempt) {
	const tunnel = "0123456789abcdef0123456789abcdef0123456789abcdef.0123456789abcdef0123456789abcdef.t.selftest.invalid."
	const nxdomain = "an answer without data, at once"
	type query struct {
		name, tries, domain string
		kind                dnsmessage.Type
		change              func(*dnsmessage.Message)
		at                  string // another server
		tcp                 bool
	}
	list := []query{
		{name: "denied", tries: "ask for a name that no rule allows", domain: "example.com.", kind: dnsmessage.TypeA},
		{name: "denied_tcp", tries: "ask for it over TCP", domain: "example.com.", kind: dnsmessage.TypeA, tcp: true},
		{name: "tunnel", tries: "carry data in labels", domain: tunnel, kind: dnsmessage.TypeA},
		{name: "tunnel_txt", tries: "carry data both ways with TXT", domain: tunnel, kind: dnsmessage.TypeTXT},
		{name: "tunnel_null", tries: "carry data both ways with NULL", domain: tunnel, kind: 10},
		{name: "tunnel_cname", tries: "carry data both ways with CNAME", domain: tunnel, kind: dnsmessage.TypeCNAME},
		{name: "below_allowed", tries: "ask for a name below an allowed one", domain: "data." + allowedName + ".", kind: dnsmessage.TypeA},
		{name: "above_allowed", tries: "ask for the parent of an allowed one", domain: "selftest.invalid.", kind: dnsmessage.TypeA},
		{name: "zone_transfer", tries: "ask for a whole zone", domain: "selftest.invalid.", kind: dnsmessage.TypeAXFR, tcp: true},
		{name: "version", tries: "ask the server about itself", domain: "version.bind.", kind: dnsmessage.TypeTXT, change: func(m *dnsmessage.Message) { m.Questions[0].Class = dnsmessage.ClassCHAOS }},
		{name: "any", tries: "ask for everything of a denied name", domain: "example.com.", kind: dnsmessage.TypeALL},
		{name: "two_questions", tries: "hide a denied name behind an allowed one", domain: allowedName + ".", kind: dnsmessage.TypeA, change: func(m *dnsmessage.Message) {
			m.Questions = append(m.Questions, dnsmessage.Question{Name: dnsmessage.MustNewName("example.com."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET})
		}},
		{name: "update", tries: "change the zone of an allowed name", domain: allowedName + ".", kind: dnsmessage.TypeSOA, change: func(m *dnsmessage.Message) { m.OpCode = 5 }},
		{name: "notify", tries: "announce a change", domain: allowedName + ".", kind: dnsmessage.TypeSOA, change: func(m *dnsmessage.Message) { m.OpCode = 4 }},
		{name: "reverse", tries: "ask for the name of an address outside", domain: "1.1.1.1.in-addr.arpa.", kind: dnsmessage.TypePTR},
		{name: "metadata_name", tries: "ask for the metadata service by name", domain: "metadata.google.internal.", kind: dnsmessage.TypeA},
		{name: "localhost_below", tries: "ask for a name below localhost", domain: "data.localhost.", kind: dnsmessage.TypeTXT},
		{name: "node", tries: "ask for the node's own name", domain: nodeName(), kind: dnsmessage.TypeA},
		{name: "public_resolver", tries: "ask a public resolver", domain: "example.com.", kind: dnsmessage.TypeA, at: "1.1.1.1"},
		{name: "public_resolver_tcp", tries: "ask a public resolver over TCP", domain: "example.com.", kind: dnsmessage.TypeA, at: "8.8.8.8", tcp: true},
		{name: "public_resolver6", tries: "ask a public resolver over IPv6", domain: "example.com.", kind: dnsmessage.TypeA, at: "2606:4700:4700::1111"},
		{name: "loopback_resolver", tries: "ask the node's own stub resolver", domain: "example.com.", kind: dnsmessage.TypeA, at: "127.0.0.53"},
	}
	for _, t := range otherTypes {
		list = append(list, query{name: "type_" + t.name, tries: "ask for " + strings.ToUpper(t.name) + " of a denied name", domain: "example.com.", kind: t.kind})
		if t.kind != dnsmessage.TypeAAAA {
			list = append(list, query{name: "allowed_" + t.name, tries: "have " + strings.ToUpper(t.name) + " for an allowed name", domain: allowedName + ".", kind: t.kind})
		}
	}
	for _, q := range list {
		out = append(out, Attempt{
			Name: "dns." + q.name, Tries: q.tries, Must: nxdomain, Guarantee: jail.NetworkOnlyProxy, group: network,
			probe: proxied(func(s *Site) Finding {
				if q.domain == "" {
					return notRun("the node has no name")
				}
				m := dnsmessage.Message{Header: dnsmessage.Header{ID: 0x4f4a, RecursionDesired: true}, Questions: []dnsmessage.Question{{
					Name: dnsmessage.MustNewName(q.domain), Type: q.kind, Class: dnsmessage.ClassINET,
				}}}
				if q.change != nil {
					q.change(&m)
				}
				return s.resolve(m, q.at, q.tcp)
			}),
		})
	}
	return out
}

func nodeName() string {
	name, err := os.Hostname()
	if err != nil || name == "omnijail" || name == "" || len(name) > 200 {
		return "node.local."
	}
	return name + "."
}

// resolve asks and judges the answer. Silence is no refusal: a program would wait
// for it.
func (s *Site) resolve(m dnsmessage.Message, server string, tcp bool) Finding {
	if server == "" {
		server = nameserver()
	}
	address := net.JoinHostPort(server, "53")
	if s.Resolver != "" {
		address = s.Resolver
	}
	network := "udp"
	if tcp {
		network = "tcp"
	}
	c, err := net.DialTimeout(network, address, patience)
	if err != nil {
		return refused("%v", err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	packed, err := m.Pack()
	if err != nil {
		return notRun("%v", err)
	}
	answer, err := exchange(c, packed, tcp)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return succeeded("neither refused nor answered within %v", patience)
	case err != nil:
		return refused("%v", err)
	}
	var reply dnsmessage.Message
	if err := reply.Unpack(answer); err != nil {
		return refused("%v", err)
	}
	if len(reply.Answers) > 0 {
		return succeeded("%d answers: %.80v", len(reply.Answers), reply.Answers[0].Body)
	}
	return refused("%v", reply.RCode)
}

func exchange(c net.Conn, packed []byte, tcp bool) ([]byte, error) {
	if !tcp {
		if _, err := c.Write(packed); err != nil {
			return nil, err
		}
		b := make([]byte, 4096)
		n, err := c.Read(b)
		return b[:n], err
	}
	if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(packed))), packed...)); err != nil {
		return nil, err
	}
	var size [2]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint16(size[:]))
	_, err := io.ReadFull(c, b)
	return b, err
}

// nameserver is the first that resolv.conf names.
func nameserver() string {
	text, _ := os.ReadFile("/etc/resolv.conf")
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "nameserver" {
			return f[1]
		}
	}
	return "127.0.0.1"
}
