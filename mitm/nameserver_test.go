package mitm

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// nameserver answers by script: the n-th question for the addresses of a name gets
// the n-th answer, the last one again and again. Its answers live for no time.
type nameserver struct {
	conn net.PacketConn

	mu    sync.Mutex
	turns map[string][]string                // by name: addresses, or a name in front of them, parted by blanks
	asked map[string]map[dnsmessage.Type]int // by name
}

func newNameserver(t *testing.T, turns map[string][]string) *nameserver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	n := &nameserver{conn: conn, turns: turns, asked: map[string]map[dnsmessage.Type]int{}}
	go func() {
		buf := make([]byte, 512)
		for {
			size, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := n.answer(buf[:size]); reply != nil {
				conn.WriteTo(reply, from)
			}
		}
	}()
	return n
}

// under makes a rig's names come from n.
func (n *nameserver) under(r *rig) {
	up := Upstream{Resolver: &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", n.conn.LocalAddr().String())
	}}}
	r.proxy.now().Dial.lookup = NewDialer(up).lookup
}

// lookups is how often a name's addresses were asked for; without a name, all.
func (n *nameserver) lookups(name string) (sum int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for asked, types := range n.asked {
		if name == "" || asked == name {
			sum += types[dnsmessage.TypeA]
		}
	}
	return sum
}

func (n *nameserver) answer(query []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	name := strings.TrimSuffix(q.Name.String(), ".")
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.asked[name] == nil {
		n.asked[name] = map[dnsmessage.Type]int{}
	}
	turn := n.asked[name][q.Type]
	n.asked[name][q.Type]++
	script := n.turns[name]
	if len(script) == 0 {
		m.RCode = dnsmessage.RCodeNameError
	} else {
		m.Answers = records(q, strings.Fields(script[min(turn, len(script)-1)]))
	}
	out, _ := m.Pack()
	return out
}

// records are the answer to q; a word that is no address is an alias.
func records(q dnsmessage.Question, words []string) (out []dnsmessage.Resource) {
	at := q.Name
	add := func(body dnsmessage.ResourceBody) {
		out = append(out, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: at, Class: q.Class}, Body: body})
	}
	for _, w := range words {
		a, err := netip.ParseAddr(w)
		switch {
		case err != nil:
			alias := dnsmessage.MustNewName(w + ".")
			add(&dnsmessage.CNAMEResource{CNAME: alias})
			at = alias
		case a.Is4() && q.Type == dnsmessage.TypeA:
			add(&dnsmessage.AResource{A: a.As4()})
		case a.Is6() && q.Type == dnsmessage.TypeAAAA:
			add(&dnsmessage.AAAAResource{AAAA: a.As16()})
		}
	}
	return out
}
