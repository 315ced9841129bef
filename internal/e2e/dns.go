package e2e

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// resolver is the node's upstream.dns: it answers from a table and remembers
// every name that it was asked for, so that a test can say which left the jail.
type resolver struct {
	Addr  string
	table map[string][]string

	mu    sync.Mutex
	asked []string
}

func newResolver(t testing.TB, table map[string][]string) *resolver {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	r := &resolver{Addr: c.LocalAddr().String(), table: table}
	go r.serve(c)
	return r
}

func (r *resolver) serve(c net.PacketConn) {
	b := make([]byte, 1500)
	for {
		n, from, err := c.ReadFrom(b)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(b[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		r.answer(&m)
		if reply, err := m.Pack(); err == nil {
			c.WriteTo(reply, from)
		}
	}
}

func (r *resolver) answer(m *dnsmessage.Message) {
	q := m.Questions[0]
	name := strings.TrimSuffix(q.Name.String(), ".")
	r.mu.Lock()
	r.asked = append(r.asked, name)
	r.mu.Unlock()
	addrs, known := r.table[name]
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	if !known {
		m.RCode = dnsmessage.RCodeNameError
		return
	}
	for _, a := range addrs {
		if q.Type != dnsmessage.TypeA {
			break
		}
		m.Answers = append(m.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 1},
			Body:   &dnsmessage.AResource{A: netip.MustParseAddr(a).As4()},
		})
	}
}

// Asked are the names asked for so far, each once, sorted.
func (r *resolver) Asked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(r.asked)))
}
