package egressd

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/internal/ownthread"
	"github.com/omnijail/omnijail/netns"
	"github.com/omnijail/omnijail/netns/addrplan"
)

// A jail's whole way out: names from the stub, TLS with its CA, rules, refusals, by
// each interception. The second is what make test-gvisor runs under gVisor.
func TestAJailsConnections(t *testing.T) {
	for _, way := range []netns.Interception{netns.Steered, netns.ByPort} {
		t.Run(way.String(), func(t *testing.T) { testConnections(t, way) })
	}
}

func testConnections(t *testing.T, way netns.Interception) {
	upstream := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("upstream")) }))
	defer upstream.Close()
	n, err := netns.New(way)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	listed := netip.MustParseAddr("203.0.113.7")
	if err := n.Open(netns.Opening{Ports: []uint16{53, 443, 7777}, Addresses: []netip.Addr{listed}}); err != nil {
		t.Fatal(err)
	}
	at := netip.MustParseAddrPort(upstream.Listener.Addr().String())
	r := newRig(t)
	r.send(wire.Hello{Seq: 1, Config: r.sealed(wire.Config{
		Roots: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: upstream.Certificate().Raw}),
		Hosts: map[string]netip.AddrPort{"example.com:443": at, "203.0.113.7:7777": at}, // httptest's certificate is for example.com
	})})
	r.receive()
	s := n.Sockets()
	a := r.ask(wire.Attach{Seq: 2, Jail: testJail, Spec: r.sealed(wire.Spec{Rules: parsed(t, "GET example.com/ok", "tcp://203.0.113.7:7777")}), TCP: s.TCP, UDP: s.UDP})
	if a.Status != wire.OK {
		t.Fatal(a.Status)
	}
	n.Forget()
	denied := r.acknowledge()

	roots := x509.NewCertPool()
	ca, err := x509.ParseCertificate(a.CADER)
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(ca)
	var got []string
	say := func(format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) }
	err = ownthread.Run(func() error {
		if err := unix.Setns(int(n.FD().Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		for _, name := range []string{"example.com.", "evil.test."} {
			code, addr := lookUp(name)
			say("%s %s %v", name, code, addr.IsValid() && addrplan.Names4.Contains(addr))
			if addr.IsValid() {
				say("%s", get(addr, roots, "/ok"))
				say("%s", get(addr, roots, "/other"))
			}
		}
		c, err := net.DialTimeout("tcp4", "203.0.113.7:7777", time.Minute)
		say("an address of a rule: %v", err)
		if err == nil {
			c.Close()
		}
		c, err = net.DialTimeout("tcp4", "198.18.1.0:8443", time.Minute)
		say("a port of no rule: %v", err != nil)
		if err == nil {
			c.Close()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"example.com. RCodeSuccess true", "200 upstream", "403 no_rule", "evil.test. RCodeNameError false",
		"an address of a rule: <nil>", fmt.Sprintf("a port of no rule: %v", way == netns.ByPort),
	}
	if !slices.Equal(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	r.conn.Close()
	if names := <-denied; !slices.Contains(names, "request no_rule") || !slices.Contains(names, "dns name_denied") {
		t.Errorf("refusals on record: %q", names)
	}
}

// acknowledge plays the auditor until the conversation ends, and returns what was
// refused by then.
func (r *rig) acknowledge() <-chan []string {
	refused := make(chan []string, 1)
	go func() {
		var seen []string
		for {
			f, err := r.conn.Receive()
			if err != nil {
				refused <- seen
				return
			}
			m, err := wire.DecodeUp(f)
			if err != nil {
				continue
			}
			events, _ := m.(wire.Events)
			if e, ok := m.(wire.Event); ok {
				events = wire.Events{e}
			}
			for _, e := range events {
				if e.Decision == audit.Deny {
					seen = append(seen, fmt.Sprintf("%s %s", e.Kind, e.Code))
				}
				if !e.NoAck {
					r.conn.SendMessage(wire.Ack{Records: []wire.Written{{Seq: e.Seq, ID: "01020304"}}})
				}
			}
		}
	}()
	return refused
}

func parsed(t *testing.T, texts ...string) (rules []egress.Rule) {
	t.Helper()
	for _, text := range texts {
		r, err := egress.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, r)
	}
	return rules
}

// lookUp asks the jail's resolver for an address, from the calling thread's network.
func lookUp(name string) (code string, addr netip.Addr) {
	c, err := net.DialTimeout("udp4", netip.AddrPortFrom(addrplan.Resolver, 53).String(), time.Minute)
	if err != nil {
		return err.Error(), addr
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	q := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}},
	}
	b, err := q.Pack()
	if err == nil {
		_, err = c.Write(b)
	}
	reply := make([]byte, 512)
	n := 0
	if err == nil {
		n, err = c.Read(reply)
	}
	var m dnsmessage.Message
	if err == nil {
		err = m.Unpack(reply[:n])
	}
	if err != nil {
		return err.Error(), addr
	}
	for _, r := range m.Answers {
		if a, ok := r.Body.(*dnsmessage.AResource); ok {
			addr = netip.AddrFrom4(a.A)
		}
	}
	return m.RCode.String(), addr
}

// get asks example.com at addr for path and returns the status, and the body or why
// it was refused.
func get(addr netip.Addr, roots *x509.CertPool, path string) string {
	c, err := net.DialTimeout("tcp4", netip.AddrPortFrom(addr, 443).String(), time.Minute)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	tc := tls.Client(c, &tls.Config{RootCAs: roots, ServerName: "example.com"})
	if _, err := fmt.Fprintf(tc, "GET %s HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n", path); err != nil {
		return err.Error()
	}
	resp, err := http.ReadResponse(bufio.NewReader(tc), nil)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Sprintf("%d %s", resp.StatusCode, resp.Header.Get("X-Omnijail-Code"))
	}
	b := make([]byte, 8)
	n, _ := resp.Body.Read(b)
	return fmt.Sprintf("%d %s", resp.StatusCode, b[:n])
}
