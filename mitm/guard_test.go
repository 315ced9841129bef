package mitm

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/audit"
)

// TestS13_Guard is the table of addresses, each with and without every opt-in.
func TestS13_Guard(t *testing.T) {
	own := func(a netip.Addr) bool { return a == netip.MustParseAddr("93.184.216.1") }
	for _, tt := range []struct {
		addr string
		code audit.Code // without an opt-in
		open bool       // an opt-in lets it through
	}{
		{"93.184.216.34", "", true}, {"2606:2800:220:1::1", "", true}, {"2a00:1450::1", "", true},
		{"10.0.0.1", audit.CodePrivate, true}, {"172.16.0.1", audit.CodePrivate, true},
		{"172.32.0.1", "", true}, {"192.168.1.1", audit.CodePrivate, true},
		{"100.64.0.1", audit.CodePrivate, true}, {"100.128.0.1", "", true},
		{"169.254.1.1", audit.CodePrivate, true}, {"192.0.2.1", audit.CodePrivate, true},
		{"198.18.0.7", audit.CodePrivate, true}, {"198.51.100.1", audit.CodePrivate, true},
		{"203.0.113.1", audit.CodePrivate, true}, {"224.0.0.1", audit.CodePrivate, true},
		{"240.0.0.1", audit.CodePrivate, true}, {"255.255.255.255", audit.CodePrivate, true},
		{"0.0.0.1", audit.CodePrivate, true}, {"192.88.99.1", audit.CodePrivate, true},
		{"fc00::1", audit.CodePrivate, true}, {"fe80::1", audit.CodePrivate, true},
		{"ff02::1", audit.CodePrivate, true}, {"2001:db8::1", audit.CodePrivate, true},
		{"100::1", audit.CodePrivate, true}, {"2001::1", audit.CodePrivate, true},
		{"2002:5db8:d822::1", audit.CodePrivate, true}, {"5f00::1", audit.CodePrivate, true},
		{"::ffff:10.0.0.1", audit.CodePrivate, true}, {"::ffff:93.184.216.34", "", true},
		{"64:ff9b::5db8:d822", "", true}, {"64:ff9b::a00:1", audit.CodePrivate, true},
		{"64:ff9b:1::5db8:d822", audit.CodePrivate, true},

		{"127.0.0.1", audit.CodeOwnAddress, false}, {"127.9.9.9", audit.CodeOwnAddress, false},
		{"::1", audit.CodeOwnAddress, false}, {"0.0.0.0", audit.CodeOwnAddress, false},
		{"::", audit.CodeOwnAddress, false}, {"93.184.216.1", audit.CodeOwnAddress, false},
		{"::ffff:127.0.0.1", audit.CodeOwnAddress, false}, {"64:ff9b::7f00:1", audit.CodeOwnAddress, false},
		{"2002:7f00:1::1", audit.CodeOwnAddress, false}, {"::127.0.0.1", audit.CodeOwnAddress, false},
		{"2002:5db8:d801::1", audit.CodeOwnAddress, false},

		{"169.254.169.254", audit.CodeMetadata, false}, {"169.254.170.2", audit.CodeMetadata, false},
		{"fd00:ec2::254", audit.CodeMetadata, false}, {"100.100.100.200", audit.CodeMetadata, false},
		{"168.63.129.16", audit.CodeMetadata, false}, {"192.0.0.192", audit.CodeMetadata, false},
		{"::ffff:169.254.169.254", audit.CodeMetadata, false}, {"64:ff9b::a9fe:a9fe", audit.CodeMetadata, false},
		{"2002:a9fe:a9fe::1", audit.CodeMetadata, false},
	} {
		a := netip.MustParseAddr(tt.addr)
		if got := judgeAddr(a, own, func(netip.Addr) bool { return false }); got != tt.code {
			t.Errorf("%s: %q, want %q", tt.addr, got, tt.code)
		}
		if got := judgeAddr(a, own, func(netip.Addr) bool { return true }); (got == "") != tt.open {
			t.Errorf("%s with every opt-in: %q", tt.addr, got)
		}
	}
}

// scripted is a resolver that counts and answers what it is told.
type scripted struct {
	answers map[string][]netip.Addr
	asked   []string
}

func (s *scripted) lookup(_ context.Context, host string) ([]netip.Addr, error) {
	s.asked = append(s.asked, host)
	return s.answers[host], nil
}

// TestDialer holds that a name is looked up once, that one bad address refuses
// them all, and which opt-in opens what. Nothing here is connected to: what the
// guard lets through ends in a refused connection on a closed port.
func TestDialer(t *testing.T) {
	public, private := "93.184.216.34", "10.20.1.5"
	closed := closedPort(t)
	for _, tt := range []struct {
		name    string
		answers []string
		up      Upstream
		rule    []netip.Prefix
		host    string
		code    audit.Code
	}{
		{name: "private", answers: []string{private}, code: audit.CodePrivate},
		{name: "public first", answers: []string{public, private}, code: audit.CodePrivate},
		{name: "public first, then loopback", answers: []string{public, "127.0.0.1"}, code: audit.CodeOwnAddress},
		{name: "mapped", answers: []string{"::ffff:" + private}, code: audit.CodePrivate},
		{name: "nothing", answers: nil, code: audit.CodeUpstreamDNS},
		{name: "metadata by name", host: "metadata.google.internal", answers: []string{public}, code: audit.CodeMetadata},
		{name: "metadata, all open", answers: []string{"169.254.169.254"}, up: Upstream{AllowPrivate: true}, code: audit.CodeMetadata},
		{name: "loopback, all open", answers: []string{"127.0.0.1"}, up: Upstream{AllowPrivate: true},
			rule: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, code: audit.CodeOwnAddress},
		{name: "operator's for another host", answers: []string{private},
			up: Upstream{Private: []PrivateExemption{{Host: "x.test", Prefix: netip.MustParsePrefix("10.0.0.0/8")}}}, code: audit.CodePrivate},
		{name: "rule's other prefix", answers: []string{private}, rule: []netip.Prefix{netip.MustParsePrefix("10.21.0.0/16")}, code: audit.CodePrivate},
		{name: "pinned", up: Upstream{Hosts: map[string]netip.AddrPort{"api.test:443": closed}}, code: audit.CodeUpstreamConnect},
		{name: "pinned at another port", answers: []string{"127.0.0.1"},
			up: Upstream{Hosts: map[string]netip.AddrPort{"api.test:444": closed}}, code: audit.CodeOwnAddress},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := NewDialer(tt.up)
			host := "api.test"
			if tt.host != "" {
				host = tt.host
			}
			s := &scripted{answers: map[string][]netip.Addr{}}
			for _, a := range tt.answers {
				s.answers[host] = append(s.answers[host], netip.MustParseAddr(a))
			}
			d.lookup = s.lookup
			_, err := d.dial(t.Context(), mustAuthority(t, host+":443"), tt.rule)
			var de *dialError
			if !errors.As(err, &de) || de.code != tt.code {
				t.Errorf("%v, want %s", err, tt.code)
			}
			if len(s.asked) > 1 {
				t.Errorf("looked up %v", s.asked)
			}
			if de != nil && strings.ContainsAny(de.Error(), ".[") {
				t.Errorf("the class tells an address: %q", de)
			}
		})
	}
}

// TestOptIns holds that each opt-in opens exactly the private address it names.
func TestOptIns(t *testing.T) {
	ten := netip.MustParsePrefix("10.20.0.0/16")
	for name, tt := range map[string]struct {
		up   Upstream
		rule []netip.Prefix
	}{
		"rule":      {rule: []netip.Prefix{ten}},
		"operator":  {up: Upstream{Private: []PrivateExemption{{Host: "api.test", Prefix: ten}}}},
		"wildcard":  {up: Upstream{Private: []PrivateExemption{{Host: "*.test", Prefix: ten}}}},
		"weakening": {up: Upstream{AllowPrivate: true}},
	} {
		guard := NewDialer(tt.up).guard(mustAuthority(t, "api.test:443"), tt.rule)
		if code := guard(netip.MustParseAddrPort("10.20.1.5:443")); code != "" {
			t.Errorf("%s: %s", name, code)
		}
	}
}

// TestOwnAddresses holds that every address of the node's interfaces is known.
func TestOwnAddresses(t *testing.T) {
	own := ownAddrs()
	list, err := net.InterfaceAddrs()
	if err != nil || len(list) == 0 {
		t.Fatalf("interfaces: %v %v", list, err)
	}
	for _, a := range list {
		ip, _ := netip.AddrFromSlice(a.(*net.IPNet).IP)
		if !own(ip.Unmap()) {
			t.Errorf("%s is not known as our own", ip)
		}
	}
}

// TestControlSeesTheAddress holds that the check at connect time is a second one.
func TestControlSeesTheAddress(t *testing.T) {
	var got []netip.AddrPort
	_, err := connect(t.Context(), netip.MustParseAddrPort("127.0.0.1:9"), func(to netip.AddrPort) audit.Code {
		got = append(got, to)
		return audit.CodeOwnAddress
	})
	var de *dialError
	if !errors.As(err, &de) || de.code != audit.CodeOwnAddress || !slices.Contains(got, netip.MustParseAddrPort("127.0.0.1:9")) {
		t.Errorf("%v, asked about %v", err, got)
	}
}

// closedPort is an address on which nothing listens.
func closedPort(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return netip.MustParseAddrPort(l.Addr().String())
}

// TestUpstreamFailures holds that each failure of an upstream is told by class,
// without an address or a text of its own.
func TestUpstreamFailures(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test", "GET v4.test", "GET gone.test", "GET raw.test"}})
	get := func(host, addr string) (*http.Response, string) {
		return r.say(r.dialTLS(addr, host), "GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
	}
	for _, tt := range []struct {
		name, host string
		upstream   func() string
		status     int
		code       audit.Code
		class      string
	}{
		{"refused", "gone.test", func() string { return closedPort(t).String() }, 502, audit.CodeUpstreamConnect, "connection_refused"},
		{"not TLS", "raw.test", func() string { return answering(t, "HTTP/1.1 200 OK\r\n\r\n") }, 502, audit.CodeUpstreamTLS, "not_tls"},
		{"own address", "v4.test", nil, 403, audit.CodeOwnAddress, "this node itself"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var addr string
			if tt.upstream != nil {
				addr = r.at(tt.host+":443", tt.upstream())
			} else {
				r.proxy.now().Dial.lookup = func(context.Context, string) ([]netip.Addr, error) {
					return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
				}
				addr = r.open(tt.host + ":443")
			}
			resp, body := get(tt.host, addr)
			if resp.StatusCode != tt.status || resp.Header.Get("X-Omnijail-Code") != string(tt.code) || !strings.Contains(body, tt.class) {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
			if strings.Contains(body, "127.0.0.1") {
				t.Errorf("the jail is told an address: %s", body)
			}
			r.audit.await(t, ended, func(e Event) bool { return e.Code == tt.code && e.Status == tt.status })
		})
	}
}

// answering is an upstream that says text to whoever connects.
func answering(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.WriteString(c, text)
				io.Copy(io.Discard, c)
			}()
		}
	}()
	return l.Addr().String()
}
