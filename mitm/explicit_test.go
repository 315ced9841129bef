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
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/omnijail/omnijail/internal/audit"
)

// door is a lab whose jail also has the proxy's own port.
type door struct {
	*lab
	port  string
	plain *seen
}

func newDoor(t *testing.T, o labOptions) *door {
	t.Helper()
	d := &door{plain: &seen{}}
	more := o.config
	o.config = func(c *Config) {
		c.Admit = func(string) error { return nil }
		if more != nil {
			more(c)
		}
	}
	o.rules = append(o.rules, "* http://plain.test/open/**")
	d.lab = newLab(t, o)
	d.at("plain.test:80", d.upstreamFor("plain.test:80", d.plain))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go d.proxy.ServeExplicit(l)
	d.port = l.Addr().String()
	return d
}

// dial is a raw client of the port.
func (d *door) dial() net.Conn {
	d.t.Helper()
	c, err := net.Dial("tcp", d.port)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second)) // only bounds a hang
	return tappedConn{c, d.heard}
}

// ask sends raw on a connection of its own.
func (d *door) ask(raw string) (*http.Response, string) {
	d.t.Helper()
	c := d.dial()
	defer c.Close()
	return d.say(c, raw)
}

// through is a tunnel that a CONNECT has opened.
func (d *door) through(authority string) net.Conn {
	d.t.Helper()
	c := d.dial()
	if resp, err := http.ReadResponse(d.sent(c, connectTo(authority)), &http.Request{Method: http.MethodConnect}); err != nil || resp.StatusCode != 200 {
		d.t.Fatalf("CONNECT %s: %v %v", authority, resp, err)
	}
	return c
}

func (d *door) sent(c net.Conn, raw string) *bufio.Reader {
	d.t.Helper()
	if _, err := io.WriteString(c, raw); err != nil {
		d.t.Fatal(err)
	}
	return bufio.NewReaderSize(c, 16) // so that it takes nothing of what follows a head that ends a read
}

func connectTo(authority string, lines ...string) string {
	return sendTo(authority, "CONNECT", authority, lines...)
}

// client is an ordinary client with the proxy variables.
func (d *door) client(http2 bool) *http.Client {
	tr := &http.Transport{
		Proxy:             http.ProxyURL(&url.URL{Scheme: "http", Host: d.port, User: url.UserPassword("u", "p")}),
		TLSClientConfig:   &tls.Config{RootCAs: d.jailRoots()},
		ForceAttemptHTTP2: http2,
	}
	d.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func TestExplicit_AClientWithProxyVariables(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("h2 %v", http2), func(t *testing.T) {
			d := newDoor(t, labOptions{rules: nil})
			req, err := http.NewRequest("GET", "https://good.test/x", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+d.placeholder())
			resp, err := d.client(http2).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			got := d.good.all()
			if resp.StatusCode != 200 || len(got) != 1 || got[0].Header.Get("Authorization") != "Bearer "+secretValue {
				t.Errorf("%d, upstream saw %+v", resp.StatusCode, got)
			}
			if got[0].Header.Get("Proxy-Authorization") != "" {
				t.Error("what was meant for the proxy went on")
			}
		})
	}
}

// TestA18_AnotherHostThroughTheProxy: CONNECT, Host, SNI and what is inside must be
// one authority.
func TestA18_AnotherHostThroughTheProxy(t *testing.T) {
	d := newDoor(t, labOptions{})
	for name, raw := range map[string]string{
		"Host of a CONNECT":           sendTo("evil.test:443", "CONNECT", "good.test:443"),
		"Host of a CONNECT, port":     sendTo("good.test:8443", "CONNECT", "good.test:443"),
		"Host of an absolute request": sendTo("good.test", "GET", "http://plain.test/open/"),
		"port of an absolute request": sendTo("plain.test:81", "GET", "http://plain.test/open/"),
	} {
		if resp, _ := d.ask(raw); resp.StatusCode != 421 || resp.Header.Get("X-Omnijail-Code") != string(audit.CodeAuthority) {
			t.Errorf("%s: %d %s", name, resp.StatusCode, resp.Header.Get("X-Omnijail-Reason"))
		}
	}
	inside := tls.Client(d.through("good.test:443"), &tls.Config{RootCAs: d.jailRoots(), ServerName: "good.test"})
	if resp, _ := d.say(inside, sendTo("evil.test", "GET", "/")); resp.StatusCode != 421 {
		t.Errorf("Host inside: %d", resp.StatusCode)
	}
	if n := len(d.good.all()) + len(d.plain.all()); n > 0 {
		t.Errorf("%d requests reached an upstream", n)
	}
}

func TestA19_AnotherNameInTheHandshakeThroughTheProxy(t *testing.T) {
	d := newDoor(t, labOptions{})
	err := tls.Client(d.through("good.test:443"), &tls.Config{InsecureSkipVerify: true, ServerName: "evil.test"}).Handshake()
	if err == nil || !strings.Contains(err.Error(), "unrecognized name") {
		t.Errorf("%v", err)
	}
}

// TestA20_WhatAProxyIsAskedFor: absolute-form is for http alone, and inside a tunnel
// for nothing.
func TestA20_WhatAProxyIsAskedFor(t *testing.T) {
	d := newDoor(t, labOptions{})
	for _, target := range []string{
		"https://good.test/", "HTTP://plain.test/open/", "ftp://plain.test/open/", "/", "/open/", "*", "//plain.test/open/",
		"plain.test/open/", "plain.test:80", "http:/plain.test/open/", "http:plain.test", "http://", "http:///open/", "http://?x", "http://plain.test\\open/",
		"http://u@plain.test/open/", "http://u:p@plain.test/open/", "http://plain.test:/open/", "http://plain.test:080/open/", "http://plain.test:0/", "http://plain.test,evil.test/",
		"http://[::1/", "http://plain.test%2eevil.test/", "http://0x7f.1/", "http://good.test@plain.test/open/",
	} {
		resp, _ := d.ask(sendTo("plain.test", "GET", target))
		if resp.StatusCode != 400 || resp.Header.Get("X-Omnijail-Code") != string(audit.CodeBadRequest) {
			t.Errorf("%s: %d %s", target, resp.StatusCode, resp.Header.Get("X-Omnijail-Reason"))
		}
	}
	inside := tls.Client(d.through("good.test:443"), &tls.Config{RootCAs: d.jailRoots(), ServerName: "good.test"})
	if resp, _ := d.say(inside, send("GET", "http://plain.test/open/")); resp.StatusCode != 400 {
		t.Errorf("inside a tunnel: %d", resp.StatusCode)
	}
	if n := len(d.good.all()) + len(d.plain.all()); n > 0 {
		t.Errorf("%d requests reached an upstream", n)
	}
}

// TestA21_ConnectTargetsOfTheProxy is the table of CONNECT's target. None may be
// repaired into a destination.
func TestA21_ConnectTargetsOfTheProxy(t *testing.T) {
	d := newDoor(t, labOptions{})
	for _, target := range []string{
		"good.test", "good.test:", "good.test:0443", "good.test:99999", "good.test:0", "good.test:+443", "good.test:443:443", "user@good.test:443", "u:p@good.test:443",
		"good.test/path", "good.test:443/", "good.test:443?x", "//good.test", "//good.test:443", "/x", "*", "good.test,evil.test:443", "good.test:443,evil.test:443",
		"\u0433ood.test:443", "good%2etest:443", "%67ood.test:443", "good.test\x00:443", "good.test 443", "good.test:443#", "https://good.test:443", "http://good.test/",
		"good.test..:443", ".good.test:443", ":443", strings.Repeat("a", 254) + ":443", "[good.test]:443", "good.test:443\t",
	} {
		resp, _ := d.ask(sendTo("good.test:443", "CONNECT", target))
		if resp.StatusCode != 400 || resp.Header.Get("X-Omnijail-Code") != string(audit.CodeBadRequest) {
			t.Errorf("%q: %d %s", target, resp.StatusCode, resp.Header.Get("X-Omnijail-Reason"))
		}
	}
	for _, lines := range [][]string{{"Content-Length: 5"}, {"Transfer-Encoding: chunked"}, {"Host: good.test:443"}} {
		if resp, _ := d.ask(connectTo("good.test:443", lines...)); resp.StatusCode != 400 {
			t.Errorf("%q: %d", lines, resp.StatusCode)
		}
	}
	if n := d.good.accepted(); n > 0 {
		t.Errorf("%d connections to the upstream", n)
	}
}

// TestA22_SpellingsOfTheNameThroughTheProxy: what is one name is one authority.
func TestA22_SpellingsOfTheNameThroughTheProxy(t *testing.T) {
	d := newDoor(t, labOptions{})
	for _, target := range []string{"GOOD.test:443", "good.test.:443"} {
		tc := tls.Client(d.through(target), &tls.Config{RootCAs: d.jailRoots(), ServerName: "good.test"})
		if resp, _ := d.say(tc, send("GET", "/")); resp.StatusCode != 200 {
			t.Errorf("%s: %d", target, resp.StatusCode)
		}
	}
}

// TestA23_AddressesThroughTheProxy: odd notations are no target, the rest has no
// rule, and the jail's loopback is never reached by way of the node.
func TestA23_AddressesThroughTheProxy(t *testing.T) {
	d := newDoor(t, labOptions{})
	for target, want := range map[string]int{
		"0x7f000001:443": 400, "2130706433:443": 400, "127.1:443": 400, "0177.0.0.1:443": 400, "[fe80::1%25eth0]:443": 400, "[fe80::1%eth0]:443": 400, "::1:443": 400,
		"127.0.0.1:443": 403, "[::1]:443": 403, "[::ffff:127.0.0.1]:443": 403, "[64:ff9b::7f00:1]:443": 403, "93.184.216.34:443": 403, "169.254.169.254:80": 403,
		"localhost:443": 403, "metadata.google.internal:80": 403,
	} {
		if resp, _ := d.ask(sendTo(target, "CONNECT", target)); resp.StatusCode != want {
			t.Errorf("%s: %d %s", target, resp.StatusCode, resp.Header.Get("X-Omnijail-Reason"))
		}
	}
}

// TestA33_ConnectInsideATunnel: a tunnel leads to one authority.
func TestA33_ConnectInsideATunnel(t *testing.T) {
	d := newDoor(t, labOptions{})
	if resp, _ := d.say(d.through("good.test:443"), connectTo("evil.test:443")); resp.StatusCode != 405 {
		t.Errorf("%d", resp.StatusCode)
	}
	if resp, _ := d.say(d.through("plain.test:80"), sendTo("plain.test", "TRACE", "/open/")); resp.StatusCode != 405 {
		t.Errorf("TRACE: %d", resp.StatusCode)
	}
}

// TestExplicit_EachRequestIsJudged: one connection may ask for many authorities.
func TestExplicit_EachRequestIsJudged(t *testing.T) {
	d := newDoor(t, labOptions{})
	c := d.dial()
	br := bufio.NewReader(c)
	for _, try := range []struct {
		raw  string
		want int
	}{
		{sendTo("plain.test", "GET", "http://plain.test/open/a?q"), 200},
		{sendTo("plain.test", "GET", "http://plain.test/shut"), 403},
		{sendTo("good.test", "GET", "http://good.test/"), 403}, // its rule is for https
		{sendTo("nowhere.test", "GET", "http://nowhere.test/"), 403},
		{sendTo("plain.test:80", "GET", "http://plain.test:80/open/b"), 200},
		{sendTo("plain.test", "GET", "http://plain.test"), 403},
		{sendTo("plain.test", "GET", "http://plain.test//open/"), 400},
	} {
		io.WriteString(c, try.raw)
		if resp, _ := readReply(t, br, nil); resp.StatusCode != try.want {
			t.Errorf("%.40q: %d %s", try.raw, resp.StatusCode, resp.Header.Get("X-Omnijail-Reason"))
		}
	}
	var lines []string
	for _, req := range d.plain.all() {
		lines = append(lines, req.RequestURI)
	}
	if want := []string{"/open/a?q", "/open/b"}; !slices.Equal(lines, want) {
		t.Errorf("upstream saw %q, want %q", lines, want)
	}
}

// TestExplicit_WhatIsMeantForTheProxyStaysHere: its credentials are nobody's, are
// never asked for, and may hold no placeholder.
func TestExplicit_WhatIsMeantForTheProxyStaysHere(t *testing.T) {
	d := newDoor(t, labOptions{})
	for name, raw := range map[string]string{
		"CONNECT":  connectTo("good.test:443", "Proxy-Authorization: Bearer "+d.placeholder()),
		"absolute": sendTo("plain.test", "GET", "http://plain.test/open/", "Proxy-Authorization: Bearer "+d.placeholder()),
	} {
		if resp, _ := d.ask(raw); resp.StatusCode != 403 || resp.Header.Get("X-Omnijail-Code") != string(audit.CodePlaceholder) {
			t.Errorf("%s: %d %s", name, resp.StatusCode, resp.Header.Get("X-Omnijail-Reason"))
		}
	}
	resp, _ := d.ask(sendTo("plain.test", "GET", "http://plain.test/open/", "Proxy-Authorization: Basic dTpw", "Proxy-Connection: keep-alive"))
	if resp.StatusCode != 200 || resp.Header.Get("Proxy-Authenticate") != "" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	for _, req := range d.plain.all() {
		if req.Header.Get("Proxy-Authorization")+req.Header.Get("Proxy-Connection") != "" {
			t.Errorf("went on: %v", req.Header)
		}
	}
	if resp, _ := d.ask(connectTo("nowhere.test:443")); resp.StatusCode != 403 {
		t.Errorf("%d for a name without a rule, want 403 and never 407", resp.StatusCode)
	}
	// It is recorded like a name that was looked up.
	d.audit.await(t, opened, func(e Event) bool {
		return e.Kind == audit.KindDNS && e.Code == audit.CodeNameDenied && e.Name == "nowhere.test" && e.Authority.IsZero() && e.Method == ""
	})
}

// TestA56_NamesThroughTheProxyAreCounted: a name is admitted before it is looked up,
// and one without a rule is not even asked about.
func TestA56_NamesThroughTheProxyAreCounted(t *testing.T) {
	var asked []string
	d := newDoor(t, labOptions{rules: []string{"* *.wild.test", "* http://*.wild.test"}, config: func(c *Config) {
		c.Admit = func(host string) error { asked = append(asked, host); return errors.New("too fast") }
	}})
	for _, raw := range []string{connectTo("x.wild.test:443"), sendTo("y.wild.test", "GET", "http://y.wild.test/"), connectTo("secret.nowhere.test:443")} {
		resp, _ := d.ask(raw)
		if want := 429; resp.StatusCode != want && !strings.Contains(raw, "nowhere") {
			t.Errorf("%.30q: %d", raw, resp.StatusCode)
		}
	}
	if want := []string{"x.wild.test", "y.wild.test"}; !slices.Equal(asked, want) {
		t.Errorf("asked about %q, want %q", asked, want)
	}
	closed := newDoor(t, labOptions{config: func(c *Config) { c.Admit = nil }})
	if resp, _ := closed.ask(connectTo("good.test:443")); resp.StatusCode != 429 {
		t.Errorf("without a table of names: %d", resp.StatusCode)
	}
}

// TestExplicit_TheFirstBytesMayComeEarly: a client may send its ClientHello with the
// CONNECT.
func TestExplicit_TheFirstBytesMayComeEarly(t *testing.T) {
	d := newDoor(t, labOptions{})
	c := &eager{Conn: d.dial(), first: connectTo("good.test:443")}
	tc := tls.Client(c, &tls.Config{RootCAs: d.jailRoots(), ServerName: "good.test"})
	if resp, _ := d.say(tc, send("GET", "/")); resp.StatusCode != 200 {
		t.Errorf("%d", resp.StatusCode)
	}
}

// eager sends first with its first write, and takes one head off what it reads.
type eager struct {
	net.Conn
	first   string
	skipped bool
}

func (c *eager) Write(b []byte) (int, error) {
	n := len(b)
	b = append([]byte(c.first), b...)
	c.first = ""
	_, err := c.Conn.Write(b)
	return n, err
}

func (c *eager) Read(b []byte) (int, error) {
	for one := make([]byte, 1); !c.skipped; {
		var head strings.Builder
		for !strings.HasSuffix(head.String(), "\r\n\r\n") {
			if _, err := c.Conn.Read(one); err != nil {
				return 0, err
			}
			head.Write(one)
		}
		c.skipped = true
	}
	return c.Conn.Read(b)
}

// TestExplicit_ATCPRuleThroughATunnel: the same connection as a transparent one.
func TestExplicit_ATCPRuleThroughATunnel(t *testing.T) {
	d := newDoor(t, labOptions{rules: []string{"tcp://db.test:5432"}})
	up, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer up.Close()
	go func() {
		c, err := up.Accept()
		if err == nil {
			io.Copy(c, c)
			c.Close()
		}
	}()
	d.at("db.test:5432", up.Addr().String())
	c := d.through("db.test:5432")
	if _, err := io.WriteString(c, "hello"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
		t.Errorf("%q %v", got, err)
	}
	c.Close()
	e := d.audit.await(t, ended, func(e Event) bool { return e.Kind == audit.KindDone })
	if e.BytesIn != 5 || e.BytesOut != 5 || e.Authority.String() != "db.test:5432" {
		t.Errorf("%+v", e)
	}
}

// TestExplicit_FrozenIsFrozen: no way round a stopped network.
func TestExplicit_FrozenIsFrozen(t *testing.T) {
	d := newDoor(t, labOptions{})
	d.proxy.Freeze()
	if resp, _ := d.ask(sendTo("plain.test", "GET", "http://plain.test/open/")); resp.StatusCode != 403 {
		t.Errorf("absolute: %d", resp.StatusCode)
	}
	resp, err := d.client(false).Do((&http.Request{Method: "GET", URL: &url.URL{Scheme: "https", Host: "good.test", Path: "/"}}).WithContext(context.Background()))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 403 || resp.Header.Get("X-Omnijail-Code") != string(audit.CodeFrozen) {
		t.Errorf("CONNECT: %d", resp.StatusCode)
	}
}
