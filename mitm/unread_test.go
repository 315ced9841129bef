package mitm

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

func unread(host string) egress.Rule {
	return egress.Rule{Scheme: egress.HTTPS, Host: host, Port: 443, Path: egress.AnyPath, Unread: true}
}

// unreadTLS connects to addr and asks for sni, believing the lab's certificates only:
// a leaf of the jail's own CA is an error.
func unreadTLS(t *testing.T, addr, sni string) (*tls.Conn, error) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(testAuthority().cert)
	d := &net.Dialer{Timeout: 20 * time.Second}
	c, err := tls.DialWithDialer(d, "tcp", addr, &tls.Config{RootCAs: roots, ServerName: sni})
	if err == nil {
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(20 * time.Second)) // only bounds a hang
	}
	return c, err
}

// A connection that rules leave unread reaches the upstream's own certificate, is
// recorded with the rule and its bytes, and carries any protocol.
func TestUnreadConnectionPasses(t *testing.T) {
	r := newRig(t, options{config: withRules([]egress.Rule{unread("*.plain.test")})})
	addr := r.serve("x.plain.test:443", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "its own") }))
	c, err := unreadTLS(t, addr, "x.plain.test")
	if err != nil {
		t.Fatal(err)
	}
	if resp, body := r.say(c, "PROPFIND / HTTP/1.1\r\nHost: whatever\r\nConnection: close\r\n\r\n"); resp.StatusCode != 200 || body != "its own" {
		t.Errorf("%d %q", resp.StatusCode, body)
	}
	c.Close()
	e := r.audit.await(t, ended, func(e Event) bool { return e.Kind == audit.KindDone })
	if e.Authority.String() != "x.plain.test:443" || e.Rule != 0 || e.BytesIn == 0 || e.BytesOut == 0 {
		t.Errorf("recorded as %+v", e)
	}
	if open := r.audit.all(); len(open) != 1 || open[0].Kind != audit.KindConnect || open[0].Decision != audit.Allow {
		t.Errorf("opened: %+v", open)
	}
}

// What an unread rule does not reach stays read or refused: another name in the
// handshake, none, a host that a credential is for, one that another rule reads.
func TestUnreadIsForItsHostAlone(t *testing.T) {
	reached := &seen{}
	for what, tt := range map[string]struct {
		sni      string
		rules    []egress.Rule
		bindings []creds.Binding
	}{
		"another name": {"other.test", []egress.Rule{unread("api.test")}, nil},
		"no name":      {"", []egress.Rule{unread("api.test")}, nil},
		"a name in capitals and with a credential": {"API.test", []egress.Rule{unread("api.test")}, []creds.Binding{bearer("api.test")}},
		"a credential on another port":             {"api.test", []egress.Rule{unread("api.test")}, []creds.Binding{bearer("api.test:8443")}},
		"a rule that reads": {"api.test", []egress.Rule{unread("*.test"),
			{Scheme: egress.HTTPS, Host: "api.test", Port: 443, Path: "/x", Methods: []string{"GET"}}}, nil},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t, options{bindings: tt.bindings, config: withRules(tt.rules)})
			addr := r.serve("api.test:443", reached)
			roots := x509.NewCertPool()
			roots.AddCert(testAuthority().cert)
			raw, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
			raw.SetDeadline(time.Now().Add(20 * time.Second)) // only bounds a hang
			var leaf *x509.Certificate
			c := tls.Client(raw, &tls.Config{ServerName: tt.sni, InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error {
				leaf = s.PeerCertificates[0]
				return nil
			}})
			if err := c.Handshake(); err == nil && leaf.CheckSignatureFrom(testAuthority().cert) == nil {
				t.Error("the upstream's own certificate came through")
			}
			if len(reached.all()) != 0 {
				t.Error("the upstream was reached")
			}
		})
	}
}

// Half a ClientHello, or what only begins like one, is no way past the handshake.
func TestUnreadNeedsAWholeHello(t *testing.T) {
	r := newRig(t, options{config: withRules([]egress.Rule{unread("api.test")})})
	addr := r.serve("api.test:443", &seen{})
	for _, raw := range []string{"\x16\x03\x01\x00\x05hello", "\x16\x03\x01\xff\xff" + string(make([]byte, 70<<10))} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(20 * time.Second)) // only bounds a hang
		io.WriteString(c, raw)
		c.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, c)
		c.Close()
	}
	for range 2 {
		r.audit.await(t, opened, func(e Event) bool { return e.Decision == audit.Deny && e.Code == audit.CodeTLS })
	}
	for _, e := range r.audit.all() {
		if e.Decision == audit.Allow {
			t.Errorf("allowed: %+v", e)
		}
	}
}
