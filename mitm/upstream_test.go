package mitm

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
)

// TestA49_UpstreamCertificates holds that nothing is sent to an upstream that cannot
// prove its name.
func TestA49_UpstreamCertificates(t *testing.T) {
	wrong, err := testAuthority().mint(mustAuthority(t, "other.test:443"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	old, err := testAuthority().mint(mustAuthority(t, "good.test:443"), time.Now().Add(-100*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	good, err := testAuthority().mint(mustAuthority(t, "good.test:443"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		cert  tls.Certificate
		max   uint16
		class string
	}{
		{"good", *good, 0, ""},
		{"another name", *wrong, 0, "name_mismatch"},
		{"expired", *old, 0, "certificate_expired"},
		{"unknown authority", strangeCert(t, "good.test", time.Now().Add(time.Hour)), 0, "unknown_authority"},
		{"TLS 1.1", *good, tls.VersionTLS11, "handshake_refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, labOptions{})
			up := &seen{}
			srv := httptest.NewUnstartedServer(up)
			srv.TLS = &tls.Config{Certificates: []tls.Certificate{tt.cert}, MinVersion: tls.VersionTLS10, MaxVersion: tt.max}
			srv.Config.ErrorLog = quiet
			srv.StartTLS()
			defer srv.Close()
			l.upstream.Hosts["good.test:443"] = netip.MustParseAddrPort(srv.Listener.Addr().String())
			resp, body := l.ask(send("GET", "/"))
			if tt.class == "" {
				if resp.StatusCode != 200 {
					t.Errorf("%d %s", resp.StatusCode, body)
				}
				return
			}
			if resp.StatusCode != 502 || resp.Header.Get("X-Omnijail-Code") != string(audit.CodeUpstreamTLS) ||
				resp.Header.Get("X-Omnijail-Reason") != "good.test: "+tt.class {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
			if n := len(up.all()); n > 0 {
				t.Errorf("the upstream saw %d requests", n)
			}
		})
	}
}

// TestOddUpstreams holds that a reply is passed on whole, or cut where the
// client can see that it was.
func TestOddUpstreams(t *testing.T) {
	for _, tt := range []struct {
		name, reply string
		status      int
		body        string
		broken      bool
	}{
		{"switches unasked", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", 502, "", false},
		{"early hints", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok", false},
		{"two replies", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", 200, "ok", false},
		{"own reason phrase", "HTTP/1.1 200 secret\r\nContent-Length: 2\r\n\r\nok", 200, "ok", false},
		{"huge header", "HTTP/1.1 200 OK\r\nX: " + pad(maxReplyHeader+1) + "\r\n\r\n", 502, "", false},
		{"cut short", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nok", 200, "ok", true},
		{"cut chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n5\r\nab", 200, "okab", true},
		{"not HTTP", "220 smtp\r\n", 502, "", false},
		{"nothing", "", 502, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{rules: []string{"GET http://api.test"}})
			c, err := net.Dial("tcp", r.at("api.test:80", rawUpstream(t, tt.reply)))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(20 * time.Second)) // only bounds a hang
			io.WriteString(c, "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n")
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if resp.StatusCode != tt.status || (err != nil) != tt.broken || (tt.body != "" && string(body) != tt.body) {
				t.Errorf("%s %q %v", resp.Status, body, err)
			}
			if resp.StatusCode == 200 && resp.Status != "200 OK" {
				t.Errorf("the upstream's reason phrase came through: %q", resp.Status)
			}
		})
	}
}

// TestA54_ConnectionsAreNotShared counts upstream connections of requests with and
// without a credential, with and without a body, of two jails and either protocol.
func TestA54_ConnectionsAreNotShared(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		for _, method := range []string{"GET", "POST"} {
			t.Run(fmt.Sprintf("%s, HTTP/2 %v", method, http2), func(t *testing.T) {
				leavesNothing(t)
				var accepted atomic.Int32
				srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
				srv.EnableHTTP2 = http2
				srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
					if s == http.StateNew {
						accepted.Add(1)
					}
				}
				up := ""
				for range 2 {
					r := newRig(t, options{rules: []string{"GET,POST api.test"}, bindings: []creds.Binding{bearer("api.test/with/**")}})
					r.resolve(0)
					if up == "" {
						up = r.start("api.test:443", srv)
					}
					addr := r.at("api.test:443", up)
					c := r.client(addr)
					if http2 {
						c = r.http2Client(addr)
					}
					for _, path := range []string{"/with/1", "/without", "/with/2", "/without"} {
						req, err := http.NewRequest(method, "https://api.test"+path, strings.NewReader(map[string]string{"POST": "body"}[method]))
						if err != nil {
							t.Fatal(err)
						}
						resp, err := c.Do(req)
						if err != nil {
							t.Fatal(err)
						}
						io.Copy(io.Discard, resp.Body)
						resp.Body.Close()
					}
				}
				if n := accepted.Load(); n != 4 {
					t.Errorf("%d upstream connections, want one for each of two jails with and without the credential", n)
				}
			})
		}
	}
}

// TestCredentialThatNeverCame answers, and dials nothing; one that comes late is
// waited for.
func TestCredentialThatNeverCame(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test"}, bindings: []creds.Binding{bearer("api.test")}})
	up := &seen{}
	addr := r.serve("api.test:443", up)
	waiting := r.dialTLS(addr, "api.test")
	io.WriteString(waiting, "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n")
	r.table.Resolve(0, 1, creds.Secret{}, errors.New("the source's own words"))
	resp, body := readReply(t, bufio.NewReader(waiting), nil)
	if resp.StatusCode != 502 || resp.Header.Get("X-Omnijail-Code") != string(audit.CodeCredential) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if text := fmt.Sprint(resp.Header, body, r.audit.all()); strings.Contains(text, "own words") {
		t.Errorf("what a source said is told: %s", text)
	}
	if n := len(up.all()); n > 0 {
		t.Errorf("the upstream saw %d requests", n)
	}
	s, err := creds.NewSecret([]byte(secretValue))
	if err != nil {
		t.Fatal(err)
	}
	r.table.Resolve(0, 2, s, nil)
	if resp, _ := r.say(r.dialTLS(addr, "api.test"), "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n"); resp.StatusCode != 200 {
		t.Errorf("after the value came: %d", resp.StatusCode)
	}
}

// TestStaleCredential tells the owner of the table about a 401, and only about
// one that our credential earned.
func TestStaleCredential(t *testing.T) {
	stale := make(chan int, 10)
	r := newRig(t, options{rules: []string{"GET api.test"}, bindings: []creds.Binding{bearer("api.test/with/**")},
		config: func(c *Config) { c.Stale = func(i int) { stale <- i } }})
	r.resolve(0)
	c := r.client(r.serve("api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) { w.WriteHeader(401) }}))
	for _, path := range []string{"/without", "/with/x"} {
		resp, err := c.Get("https://api.test" + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if len(stale) != 1 || <-stale != 0 {
		t.Errorf("%d reports", len(stale))
	}
}

// TestLookupsAreAbsolute holds that no search list can make another name.
func TestLookupsAreAbsolute(t *testing.T) {
	asked := make(chan string, 4)
	d := NewDialer(Upstream{Resolver: &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		a, b := net.Pipe()
		go func() {
			defer b.Close()
			buf := make([]byte, 512)
			n, _ := b.Read(buf)
			asked <- string(buf[:n])
		}()
		return a, nil
	}}})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := d.lookup(ctx, "api.test"); err == nil {
		t.Error("a resolver that hangs up gave an answer")
	}
	if q := <-asked; !strings.Contains(q, "\x03api\x04test\x00") {
		t.Errorf("asked %q", q)
	}
}
