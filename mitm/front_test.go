package mitm

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/omnijail/omnijail/internal/audit"
)

// TestHandshakes tries names and protocols that are not the authority's.
func TestHandshakes(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test", "GET other.test"}})
	addr := r.serve("api.test:443", &seen{})
	for _, tt := range []struct {
		name  string
		sni   string
		alpn  []string
		max   uint16
		alert string // "" means that the handshake succeeds
	}{
		{"its name", "api.test", nil, 0, ""},
		{"upper case", "API.Test", nil, 0, ""},
		{"no name", "", nil, 0, ""},
		{"both protocols", "api.test", []string{"h2", "http/1.1"}, 0, ""},
		{"another allowed name", "other.test", nil, 0, "unrecognized name"},
		{"another name, TLS 1.2", "other.test", nil, tls.VersionTLS12, "unrecognized name"},
		{"h2 alone", "api.test", []string{"h2"}, 0, ""},
		{"h3 alone", "api.test", []string{"h3"}, 0, "no application protocol"},
		{"acme", "api.test", []string{"acme-tls/1"}, 0, "no application protocol"},
		{"TLS 1.1", "api.test", nil, tls.VersionTLS11, "protocol version not supported"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			raw, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
			// The name in the certificate is checked below; a client that asks
			// for no name has none to compare.
			c := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, ServerName: tt.sni, NextProtos: tt.alpn,
				MinVersion: tls.VersionTLS10, MaxVersion: tt.max})
			err = c.Handshake()
			if tt.alert != "" {
				if err == nil || !strings.Contains(err.Error(), tt.alert) {
					t.Errorf("handshake: %v, want the alert %q", err, tt.alert)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			leaf := c.ConnectionState().PeerCertificates[0]
			if len(leaf.DNSNames) != 1 || leaf.DNSNames[0] != "api.test" {
				t.Errorf("the leaf is for %v", leaf.DNSNames)
			}
			if want := settled(tt.alpn); c.ConnectionState().NegotiatedProtocol != want {
				t.Errorf("protocol %q", c.ConnectionState().NegotiatedProtocol)
			}
		})
	}
	r.audit.await(t, opened, func(e Event) bool { return e.Code == audit.CodeAuthority && e.Kind == audit.KindConnect })
}

// settled is what a client that offers these protocols is given.
func settled(offered []string) string {
	switch {
	case slices.Contains(offered, "http/1.1"):
		return "http/1.1"
	case len(offered) > 0:
		return "h2"
	}
	return ""
}

// TestResumedSessionKeepsItsAuthority offers a ticket of one authority under the
// name of another.
func TestResumedSessionKeepsItsAuthority(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test", "GET other.test"}})
	addr := r.serve("api.test:443", &seen{})
	cache := &oneSession{}
	connect := func(sni string) error {
		c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, ServerName: sni, ClientSessionCache: cache})
		if err != nil {
			return err
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(20 * time.Second)) // only bounds a hang
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: "+sni+"\r\nConnection: close\r\n\r\n")
		b, err := io.ReadAll(c)
		if err == nil && len(b) == 0 {
			return io.EOF
		}
		if strings.Contains(string(b), "200 OK") && c.ConnectionState().DidResume {
			cache.resumed = true
		}
		return err
	}
	for range 2 {
		if err := connect("api.test"); err != nil {
			t.Fatal(err)
		}
	}
	if !cache.resumed {
		t.Fatal("the control did not resume, so this test shows nothing")
	}
	if err := connect("other.test"); err == nil {
		t.Error("a session of api.test served other.test")
	}
}

// oneSession hands the last session to every name.
type oneSession struct {
	last    *tls.ClientSessionState
	resumed bool
}

func (s *oneSession) Get(string) (*tls.ClientSessionState, bool) { return s.last, s.last != nil }
func (s *oneSession) Put(_ string, cs *tls.ClientSessionState)   { s.last = cs }

// TestA51_ClientThatRefusesOurCA is what a client with its own roots looks like.
func TestA51_ClientThatRefusesOurCA(t *testing.T) {
	r := newLab(t, labOptions{rules: []string{"GET api.test"}}).rig
	addr := r.serve("api.test:443", &seen{})
	if _, err := tls.Dial("tcp", addr, &tls.Config{ServerName: "api.test"}); err == nil {
		t.Fatal("a client with the system's roots trusts us")
	}
	e := r.audit.await(t, opened, func(e Event) bool { return e.Code == audit.CodeTLSClient })
	if e.Authority.String() != "api.test:443" || e.Decision != audit.Deny || e.Status != 42 { // bad_certificate
		t.Errorf("recorded %+v", e)
	}
}

// TestPlainHTTP needs an http:// rule, whatever else is allowed.
func TestPlainHTTP(t *testing.T) {
	for _, tt := range []struct {
		rule   string
		status int
		code   audit.Code
	}{
		{"GET http://api.test/", 200, ""},
		{"GET api.test:80/", 403, audit.CodePlainHTTP},
		{"GET api.test", 403, audit.CodePlainHTTP},
		{"GET http://api.test/other", 403, audit.CodeNoRule},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			r := newRig(t, options{rules: []string{tt.rule}})
			up := &seen{}
			c, err := net.Dial("tcp", r.serve("api.test:80", up))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			resp, body := r.say(c, "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n")
			if resp.StatusCode != tt.status || resp.Header.Get("X-Omnijail-Code") != string(tt.code) {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
			if n := len(up.all()); (n == 1) != (tt.status == 200) {
				t.Errorf("the upstream saw %d requests", n)
			}
		})
	}
}

// TestRefusedConnections are closed without an answer of HTTP, and recorded.
func TestRefusedConnections(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test"}})
	addr := r.open("api.test:5432")
	for _, tt := range []struct {
		name, raw string
		code      audit.Code
	}{
		{"redis", "PING\r\n", audit.CodeRawTCP},
		{"binary", "\x00\x01\x02\x03", audit.CodeRawTCP},
		{"smtp", "HELO x\r\n", audit.CodeRawTCP},
		{"broken TLS", "\x16\x03\x01\xff\xff", audit.CodeTLS},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			io.WriteString(c, tt.raw)
			c.(*net.TCPConn).CloseWrite()
			if b, _ := io.ReadAll(c); strings.Contains(string(b), "HTTP/") {
				t.Errorf("answered %q", b)
			}
			r.audit.await(t, opened, func(e Event) bool {
				return e.Code == tt.code && e.Authority.String() == "api.test:5432"
			})
		})
	}
}

// TestLoopbackIsClosed holds that nothing is served at a loopback address, which
// belongs to the jail's own servers.
func TestLoopbackIsClosed(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET http://api.test/"}})
	c, err := net.Dial("tcp", r.open("127.0.0.1:80"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second)) // only bounds a hang
	io.WriteString(c, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	if b, err := io.ReadAll(c); len(b) > 0 || isTimeout(err) {
		t.Errorf("answered %q %v", b, err)
	}
}

// TestIPLiteral is answered so that the reason can be read, and not dialled.
func TestIPLiteral(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test"}})
	c := r.dialTLS(r.open("93.184.216.34:443"), "93.184.216.34")
	resp, body := r.say(c, "GET / HTTP/1.1\r\nHost: 93.184.216.34\r\n\r\n")
	if resp.StatusCode != 403 || resp.Header.Get("X-Omnijail-Code") != string(audit.CodeIPLiteral) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestPort53 goes to the DNS server and not to a rule.
func TestPort53(t *testing.T) {
	got := make(chan string, 1)
	r := newRig(t, options{rules: []string{"tcp://api.test:53"}, config: func(c *Config) {
		c.DNS = func(conn net.Conn) { got <- conn.LocalAddr().String() }
	}})
	c, err := net.Dial("tcp", r.open("api.test:53"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if at := <-got; at != "198.18.0.1:53" {
		t.Errorf("DNS was asked at %s", at)
	}
}

// TestTCPRule carries bytes that no parser looks at, also when the server speaks
// first, and counts them.
func TestTCPRule(t *testing.T) {
	r := newRig(t, options{rules: []string{"tcp://db.test:5432"}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		io.WriteString(c, "hello")
		io.Copy(c, c)
	}()
	c, err := net.Dial("tcp", r.at("db.test:5432", l.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "\x16\x03\x01 not TLS")
	c.(*net.TCPConn).CloseWrite()
	b, err := io.ReadAll(c)
	if err != nil || string(b) != "hello\x16\x03\x01 not TLS" {
		t.Errorf("read %q %v", b, err)
	}
	e := r.audit.await(t, ended, func(e Event) bool { return true })
	if e.BytesOut != 11 || e.BytesIn != 16 || e.Rule != 0 {
		t.Errorf("recorded %+v", e)
	}
}

// TestA75_ConnectionLimit holds one jail to its connections.
func TestA75_ConnectionLimit(t *testing.T) {
	r := newLab(t, labOptions{rules: []string{"GET api.test"}}).rig
	addr := r.open("api.test:443")
	for range maxConns {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Second)) // below firstByteTimeout: only bounds a hang
	if _, err := c.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("one connection too many: %v", err)
	}
	r.audit.await(t, opened, func(e Event) bool { return e.Code == audit.CodeFlood })
}

// TestS22_NoRecordNoDial holds that without a record nothing leaves.
func TestS22_NoRecordNoDial(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test", "tcp://db.test:5432"}})
	r.audit.fail = context.DeadlineExceeded
	up := &seen{}
	resp, _ := r.say(r.dialTLS(r.serve("api.test:443", up), "api.test"), "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n")
	if resp.StatusCode != 503 || resp.Header.Get("X-Omnijail-Code") != string(audit.CodeAudit) {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	resp, _ = r.say(r.dialTLS(r.serve("denied.test:443", up), "denied.test"), "GET / HTTP/1.1\r\nHost: denied.test\r\n\r\n")
	if resp.StatusCode != 503 {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	if n := len(up.all()); n > 0 {
		t.Errorf("the upstream saw %d requests", n)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", r.at("db.test:5432", l.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.Copy(io.Discard, c)
	l.(*net.TCPListener).SetDeadline(time.Unix(1, 0))
	if _, err := l.Accept(); err == nil {
		t.Error("the upstream was dialled")
	}
}

// TestRefusalsAreBounded holds that asking for what is denied cannot fill the audit.
func TestRefusalsAreBounded(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test/ok"}})
	r.proxy.refusals.now = func() time.Time { return r.proxy.refusals.last }
	c := r.client(r.serve("api.test:443", &seen{}))
	flooded := 0
	for range refusalBurst + 10 {
		resp, err := c.Get("https://api.test/no")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode == 429 {
			flooded++
		}
	}
	if flooded != 10 || len(r.audit.opened) != refusalBurst {
		t.Errorf("%d answered 429, %d recorded", flooded, len(r.audit.opened))
	}
}

func TestDestinationOfOddConnections(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if at := destination(a); at.IsValid() {
		t.Errorf("a pipe has the destination %s", at)
	}
	mapped := movedConn{to: netip.MustParseAddrPort("[::ffff:1.2.3.4]:443")}
	if at := destination(mapped); at.String() != "1.2.3.4:443" {
		t.Errorf("a mapped address is %s", at)
	}
}
