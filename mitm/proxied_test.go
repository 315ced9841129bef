package mitm

import (
	"bufio"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/omnijail/omnijail/internal/audit"
)

// forwarder is a corporate proxy: it answers CONNECT and leads wherever it is told.
type forwarder struct {
	at    netip.AddrPort
	to    string // the one upstream behind it
	reply string // in place of a connection
	early bool   // the upstream speaks first

	mu    sync.Mutex
	heads []*http.Request
}

func newForwarder(t *testing.T, f *forwarder) *forwarder {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	f.at = netip.MustParseAddrPort(l.Addr().String())
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go f.serve(c)
		}
	}()
	return f
}

func (f *forwarder) serve(c net.Conn) {
	defer c.Close()
	br := bufio.NewReader(c)
	req, err := http.ReadRequest(br)
	if err != nil {
		return
	}
	f.mu.Lock()
	f.heads = append(f.heads, req)
	f.mu.Unlock()
	if f.reply != "" {
		io.WriteString(c, f.reply)
		return
	}
	up, err := net.Dial("tcp", f.to)
	if err != nil {
		return
	}
	defer up.Close()
	hello := "HTTP/1.1 200 Connection established\r\n\r\n"
	if f.early {
		hello += "220 hello\r\n"
	}
	io.WriteString(c, hello)
	go func() {
		io.Copy(up, br)
		up.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(c, up)
}

func (f *forwarder) told() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, h := range f.heads {
		out = append(out, h.Method+" "+h.RequestURI+" "+h.Header.Get("Proxy-Authorization"))
	}
	return out
}

// TestUpstreamProxy holds that names go to the proxy unresolved, and only those
// that a rule has allowed; that the login reaches nobody else; and that TLS is the
// upstream's, verified, through it.
func TestUpstreamProxy(t *testing.T) {
	up := &seen{}
	f := newForwarder(t, &forwarder{})
	r := newRig(t, options{rules: []string{"GET api.test/ok", "tcp://db.test:5432"},
		up: func(u *Upstream) { u.Proxy = &Proxied{Address: f.at, Login: "corp:pass:word"} }})
	f.to = r.upstreamFor("api.test:443", up)
	s := &scripted{}
	r.proxy.now().Dial.lookup = s.lookup
	addr := r.open("api.test:443")
	for path, want := range map[string]int{"/ok": 200, "/no": 403} {
		if resp, body := r.say(r.dialTLS(addr, "api.test"), "GET "+path+" HTTP/1.1\r\nHost: api.test\r\n\r\n"); resp.StatusCode != want {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	login := "Basic " + base64.StdEncoding.EncodeToString([]byte("corp:pass:word"))
	if got := f.told(); !slices.Equal(got, []string{"CONNECT api.test:443 " + login}) {
		t.Errorf("the proxy was told %q", got)
	}
	if len(s.asked) > 0 {
		t.Errorf("%v were looked up here", s.asked)
	}
	for _, req := range up.all() {
		if req.Header.Get("Proxy-Authorization") != "" {
			t.Error("the upstream was told the proxy's login")
		}
	}

	f.to, f.early = answering(t, ""), true
	c, err := net.Dial("tcp", r.open("db.test:5432"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "x")
	if line, _ := bufio.NewReader(c).ReadString('\n'); line != "220 hello\r\n" {
		t.Errorf("what came behind the proxy's head: %q", line)
	}
}

// TestUpstreamProxyIsNoWayRound holds what is judged here although a proxy dials,
// and what is dialled past it.
func TestUpstreamProxyIsNoWayRound(t *testing.T) {
	f := newForwarder(t, &forwarder{reply: "HTTP/1.1 200 OK\r\n\r\n"})
	private := netip.MustParsePrefix("10.0.0.0/8")
	d := NewDialer(Upstream{
		Proxy: &Proxied{Address: f.at}, AllowPrivate: true, Denied: []netip.Prefix{netip.MustParsePrefix("93.184.216.0/24")},
		Private: []PrivateExemption{{Host: "*.corp.test", Prefix: private}},
		Hosts:   map[string]netip.AddrPort{"pin.test:443": closedPort(t)},
	})
	d.lookup = (&scripted{answers: map[string][]netip.Addr{"in.corp.test": {netip.MustParseAddr("127.0.0.1")}}}).lookup
	for name, code := range map[string]audit.Code{
		"metadata.google.internal:80": audit.CodeMetadata, "169.254.169.254:80": audit.CodeMetadata, "127.0.0.1:22": audit.CodeOwnAddress,
		"93.184.216.34:443": audit.CodeDeniedAddress, "pin.test:443": audit.CodeUpstreamConnect, "in.corp.test:443": audit.CodeOwnAddress,
	} {
		_, err := d.dial(t.Context(), mustAuthority(t, name), nil)
		var de *dialError
		if !errors.As(err, &de) || de.code != code {
			t.Errorf("%s: %v, want %s", name, err, code)
		}
	}
	if got := f.told(); len(got) > 0 {
		t.Errorf("the proxy was told %q", got)
	}
}

// TestUpstreamProxyFailures holds that each is told by class, without a word of the
// proxy's.
func TestUpstreamProxyFailures(t *testing.T) {
	for reply, class := range map[string]string{
		"HTTP/1.1 407 Who are you\r\nProxy-Authenticate: Basic\r\n\r\n": "proxy_wants_login",
		"HTTP/1.1 403 10.1.2.3 says no\r\n\r\n":                         "proxy_refused",
		"HTTP/1.1 302 Found\r\nLocation: https://evil.test/\r\n\r\n":    "proxy_refused",
		"HTTP/1.1 101 Switching\r\n\r\n":                                "proxy_refused",
		"SSH-2.0-x\r\n":                                                 "proxy_broken",
		"HTTP/1.1 200 OK\r\nX: " + pad(maxProxyHead):                    "proxy_broken",
	} {
		f := newForwarder(t, &forwarder{reply: reply})
		r := newRig(t, options{rules: []string{"GET api.test"}, up: func(u *Upstream) { u.Proxy = &Proxied{Address: f.at} }})
		resp, body := r.say(r.dialTLS(r.open("api.test:443"), "api.test"), "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n")
		if resp.StatusCode != 502 || resp.Header.Get("X-Omnijail-Reason") != "api.test: "+class || strings.Contains(body, "10.1.2.3") {
			t.Errorf("%.40q: %d %s", reply, resp.StatusCode, body)
		}
	}
	wrong := newForwarder(t, &forwarder{})
	r := newRig(t, options{rules: []string{"GET api.test"}, up: func(u *Upstream) { u.Proxy = &Proxied{Address: wrong.at} }})
	up := &seen{}
	wrong.to = r.upstreamFor("other.test:443", up)
	resp, body := r.say(r.dialTLS(r.open("api.test:443"), "api.test"), "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n")
	if resp.StatusCode != 502 || resp.Header.Get("X-Omnijail-Reason") != "api.test: name_mismatch" || len(up.all()) > 0 {
		t.Errorf("a proxy that leads elsewhere: %d %s", resp.StatusCode, body)
	}
}
