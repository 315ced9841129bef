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
	denied := []netip.Prefix{netip.MustParsePrefix("93.184.216.0/24"), netip.MustParsePrefix("10.9.0.0/16")}
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
		{name: "denied", answers: []string{"2a00::1", public}, up: Upstream{Denied: denied}, code: audit.CodeDeniedAddress},
		{name: "denied, mapped", answers: []string{"::ffff:" + public}, up: Upstream{Denied: denied}, code: audit.CodeDeniedAddress},
		{name: "denied, through NAT64", answers: []string{"64:ff9b::5db8:d822"}, up: Upstream{Denied: denied}, code: audit.CodeDeniedAddress},
		{name: "denied, all open", answers: []string{"10.9.0.1"}, up: Upstream{Denied: denied, AllowPrivate: true}, code: audit.CodeDeniedAddress},
		{name: "denied, pinned", code: audit.CodeDeniedAddress,
			up: Upstream{Denied: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Hosts: map[string]netip.AddrPort{"api.test:443": closed}}},
		{name: "metadata, pinned", code: audit.CodeMetadata,
			up: Upstream{Hosts: map[string]netip.AddrPort{"api.test:443": netip.MustParseAddrPort("169.254.169.254:80")}}},
		{name: "metadata, pinned, through NAT64", code: audit.CodeMetadata,
			up: Upstream{Hosts: map[string]netip.AddrPort{"api.test:443": netip.MustParseAddrPort("[64:ff9b::a9fe:a9fe]:80")}}},
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
		judge := NewDialer(tt.up).judge(mustAuthority(t, "api.test:443"), tt.rule)
		if code := judge(netip.MustParseAddrPort("10.20.1.5:443")); code != "" {
			t.Errorf("%s: %s", name, code)
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
