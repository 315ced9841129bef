package mitm

import (
	"bufio"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
)

// TestHopByHop shows what the upstream sees of headers that are about the hop or
// about who is asking, and that none of them takes the credential away.
func TestHopByHop(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test"}, bindings: []creds.Binding{bearer("api.test")}})
	r.resolve(0)
	up := &seen{}
	addr := r.serve("api.test:443", up)
	r.say(r.dialTLS(addr, "api.test"), "GET / HTTP/1.1\r\nHost: API.test.\r\nConnection: X-Drop, keep-alive, Upgrade, HTTP2-Settings\r\n"+
		"X-Drop: 1\r\nKeep-Alive: 5\r\nProxy-Connection: x\r\nProxy-Authorization: Basic eDp5\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"+
		"X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Host: evil.test\r\nForwarded: for=1\r\nVia: x\r\nX-Keep: yes\r\nAuthorization:  \r\n\r\n")
	got := up.all()
	if len(got) != 1 {
		t.Fatalf("the upstream saw %d requests", len(got))
	}
	want := http.Header{"X-Keep": {"yes"}, "Accept-Encoding": {"identity"}, "Authorization": {"Bearer " + secretValue}}
	if len(got[0].Header) != len(want) {
		t.Errorf("the upstream saw %v", got[0].Header)
	}
	for name, v := range want {
		if got[0].Header.Get(name) != v[0] {
			t.Errorf("%s is %q", name, got[0].Header.Get(name))
		}
	}
}

// TestHopByHopOfReplies: what an upstream says of its connection, or asks of a proxy,
// is not the jail's.
func TestHopByHopOfReplies(t *testing.T) {
	l := newLab(t, labOptions{})
	l.upstream.Hosts["good.test:443"] = netip.MustParseAddrPort(l.rawTLS("HTTP/1.1 200 OK\r\nConnection: X-Drop, keep-alive, Upgrade\r\nX-Drop: 1\r\nKeep-Alive: timeout=5\r\n" +
		"Proxy-Authenticate: Basic realm=x\r\nProxy-Authentication-Info: x\r\nProxy-Connection: close\r\nUpgrade: h2c\r\nTE: trailers\r\nAlt-Svc: h3=\":443\"\r\n" +
		"X-Keep: yes\r\nContent-Length: 2\r\n\r\nok"))
	modern, err := l.http2Client(l.addr).Get("https://good.test/")
	if err != nil {
		t.Fatal(err)
	}
	modern.Body.Close()
	old, _ := l.ask(send("GET", "/"))
	for _, resp := range []*http.Response{old, modern} {
		delete(resp.Header, "Date")
		if want := (http.Header{"X-Keep": {"yes"}, "Content-Length": {"2"}}); !maps.EqualFunc(resp.Header, want, slices.Equal) {
			t.Errorf("%s: the jail got %v", resp.Proto, resp.Header)
		}
	}
}

// TestPlaceholderInBody holds both answers of the policy, with the placeholder
// cut between two chunks.
func TestPlaceholderInBody(t *testing.T) {
	for _, deny := range []bool{false, true} {
		r := newRig(t, options{rules: []string{"POST api.test"}, bindings: []creds.Binding{bearer("api.test")},
			config: func(c *Config) { c.BodyDeny = deny }})
		r.resolve(0)
		mine := r.table.Placeholders()["TOKEN"]
		got := make(chan string, 1)
		c := r.client(r.serve("api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) {
			b, _ := io.ReadAll(req.Body)
			got <- string(b)
		}}))
		resp, err := c.Post("https://api.test/", "text/plain", io.MultiReader(strings.NewReader("x "+mine[:20]), strings.NewReader(mine[20:])))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if body := <-got; strings.Contains(body, secretValue) || deny == strings.Contains(body, mine) {
			t.Errorf("deny %v: the upstream read %q", deny, body)
		}
		if want := map[bool]int{false: 200, true: 403}[deny]; resp.StatusCode != want {
			t.Errorf("deny %v: status %d", deny, resp.StatusCode)
		}
		r.audit.await(t, ended, func(e Event) bool { return e.Code == audit.CodePlaceholder })
	}
}

// TestFreeze holds that with freeze the first misuse is the last request.
func TestFreeze(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test"}, config: func(c *Config) { c.Freeze = true }})
	up := &seen{}
	c := r.dialTLS(r.serve("api.test:443", up), "api.test")
	br := bufio.NewReader(c)
	for _, tt := range []struct {
		header string
		code   audit.Code
	}{
		{"X: y", ""},
		{"X: oa_cred_" + strings.Repeat("A", 43), audit.CodePlaceholder},
		{"X: y", audit.CodeFrozen},
	} {
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: api.test\r\n"+tt.header+"\r\n\r\n")
		resp, _ := readReply(t, br, nil)
		if got := resp.Header.Get("X-Omnijail-Code"); got != string(tt.code) {
			t.Errorf("%s: code %q, want %q", tt.header, got, tt.code)
		}
	}
	if n := len(up.all()); n != 1 {
		t.Errorf("the upstream saw %d requests", n)
	}
}
