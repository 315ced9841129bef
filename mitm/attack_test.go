package mitm

import (
	"bufio"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
)

// TestRawAttacks sends what two parsers could read in two ways. In each case the
// jail is refused and the upstream sees nothing at all.
func TestRawAttacks(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET,POST api.test/ok/**", "* evil.test"}, bindings: []creds.Binding{bearer("api.test")}})
	r.resolve(0)
	up := &seen{}
	addr := r.serve("api.test:443", up)
	const host = "Host: api.test\r\n"
	for _, tt := range []struct {
		name, raw string
		status    int
		code      audit.Code
	}{
		{"connect", "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n", 405, audit.CodeMethod},
		{"connect path", "CONNECT /ok HTTP/1.1\r\n" + host + "\r\n", 405, audit.CodeMethod},
		{"trace", "TRACE /ok HTTP/1.1\r\n" + host + "\r\n", 405, audit.CodeMethod},
		{"asterisk", "OPTIONS * HTTP/1.1\r\n" + host + "\r\n", 400, audit.CodeBadRequest},
		{"absolute form", "GET https://evil.test/ok HTTP/1.1\r\n" + host + "\r\n", 400, audit.CodeBadRequest},
		{"absolute form of itself", "GET https://api.test/ok HTTP/1.1\r\n" + host + "\r\n", 400, audit.CodeBadRequest},
		{"two slashes", "GET //evil.test/ok HTTP/1.1\r\n" + host + "\r\n", 400, audit.CodeBadRequest},
		{"fragment", "GET /ok/#/../x HTTP/1.1\r\n" + host + "\r\n", 400, audit.CodeBadRequest},
		{"other host", "GET /ok HTTP/1.1\r\nHost: evil.test\r\n\r\n", 421, audit.CodeAuthority},
		{"other port", "GET /ok HTTP/1.1\r\nHost: api.test:8443\r\n\r\n", 421, audit.CodeAuthority},
		{"host with path", "GET /ok HTTP/1.1\r\nHost: api.test/evil\r\n\r\n", 400, audit.CodeBadRequest},
		{"host with userinfo", "GET /ok HTTP/1.1\r\nHost: u@api.test\r\n\r\n", 400, audit.CodeBadRequest},
		{"host twice", "GET /ok HTTP/1.1\r\n" + host + host + "\r\n", 400, audit.CodeBadRequest},
		{"no host", "GET /ok HTTP/1.1\r\n\r\n", 400, audit.CodeBadRequest},
		{"authorization twice", "GET /ok HTTP/1.1\r\n" + host + "Authorization: a\r\nAuthorization: b\r\n\r\n", 400, audit.CodeBadRequest},
		{"length twice", "POST /ok HTTP/1.1\r\n" + host + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nab", 400, audit.CodeBadRequest},
		{"length and chunked", "POST /ok HTTP/1.1\r\n" + host + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG", 400, audit.CodeBadRequest},
		{"signed length", "POST /ok HTTP/1.1\r\n" + host + "Content-Length: +5\r\n\r\nabcde", 400, audit.CodeBadRequest},
		{"negative length", "POST /ok HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n", 400, audit.CodeBadRequest},
		{"length list", "POST /ok HTTP/1.1\r\n" + host + "Content-Length: 5, 5\r\n\r\nabcde", 400, audit.CodeBadRequest},
		{"odd coding", "POST /ok HTTP/1.1\r\n" + host + "Transfer-Encoding: xchunked\r\n\r\n", 400, audit.CodeBadRequest},
		{"two codings", "POST /ok HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400, audit.CodeBadRequest},
		{"chunked in 1.0", "POST /ok HTTP/1.0\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, audit.CodeBadRequest},
		{"bare LF", "GET /ok HTTP/1.1\n" + "Host: api.test\n\n", 400, audit.CodeBadRequest},
		{"bare CR", "GET /ok HTTP/1.1\r\n" + host + "X: a\rHost: evil.test\r\n\r\n", 400, audit.CodeBadRequest},
		{"folded", "GET /ok HTTP/1.1\r\n" + host + "X: a\r\n b\r\n\r\n", 400, audit.CodeBadRequest},
		{"blank before colon", "GET /ok HTTP/1.1\r\n" + host + "Authorization : x\r\n\r\n", 400, audit.CodeBadRequest},
		{"NUL in value", "GET /ok HTTP/1.1\r\n" + host + "X: a\x00b\r\n\r\n", 400, audit.CodeBadRequest},
		{"8 bit name", "GET /ok HTTP/1.1\r\n" + host + "X\xff: a\r\n\r\n", 400, audit.CodeBadRequest},
		{"lower method", "get /ok HTTP/1.1\r\n" + host + "\r\n", 400, audit.CodeBadRequest},
		{"two blanks", "GET  /ok HTTP/1.1\r\n" + host + "\r\n", 400, audit.CodeBadRequest},
		{"tab", "GET\t/ok HTTP/1.1\r\n" + host + "\r\n", 400, audit.CodeBadRequest},
		{"HTTP/0.9", "GET /ok\r\n\r\n", 400, audit.CodeBadRequest},
		{"HTTP/1.9", "GET /ok HTTP/1.9\r\n" + host + "\r\n", 400, audit.CodeBadRequest},
		{"h2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, audit.CodeBadRequest},
		{"8 bit target", "GET /ok/\xc3\xa9 HTTP/1.1\r\n" + host + "\r\n", 400, audit.CodeBadRequest},
		{"connection names authorization", "GET /ok HTTP/1.1\r\n" + host + "Connection: close, authorization\r\n\r\n", 400, audit.CodeBadRequest},
		{"connection names host", "GET /ok HTTP/1.1\r\n" + host + "Connection: Host\r\n\r\n", 400, audit.CodeBadRequest},
		{"connection names length", "POST /ok HTTP/1.1\r\n" + host + "Content-Length: 0\r\nConnection: Content-Length\r\n\r\n", 400, audit.CodeBadRequest},
		{"websocket", "GET /ok HTTP/1.1\r\n" + host + "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + wsKey + "\r\n\r\n", 403, audit.CodeUpgrade},
		{"odd expectation", "POST /ok HTTP/1.1\r\n" + host + "Expect: 200-ok\r\nContent-Length: 1\r\n\r\n", 417, audit.CodeBadRequest},
		{"dot segment", "GET /ok/../admin HTTP/1.1\r\n" + host + "\r\n", 400, audit.CodeBadRequest},
		{"encoded dots", "GET /ok/%2e%2e/admin HTTP/1.1\r\n" + host + "\r\n", 400, audit.CodeBadRequest},
		{"encoded slash", "GET /ok/..%2fadmin HTTP/1.1\r\n" + host + "\r\n", 400, audit.CodeBadRequest},
		{"encoded NUL", "GET /ok/%00 HTTP/1.1\r\n" + host + "\r\n", 400, audit.CodeBadRequest},
		{"backslash", "GET /ok\\..\\admin HTTP/1.1\r\n" + host + "\r\n", 400, audit.CodeBadRequest},
		{"broken escape", "GET /ok/%zz HTTP/1.1\r\n" + host + "\r\n", 400, audit.CodeBadRequest},
		{"method", "DELETE /ok HTTP/1.1\r\n" + host + "\r\n", 403, audit.CodeNoRule},
		{"unknown method", "PROPFIND /ok HTTP/1.1\r\n" + host + "\r\n", 403, audit.CodeNoRule},
		{"path", "GET /admin HTTP/1.1\r\n" + host + "\r\n", 403, audit.CodeNoRule},
		{"fields", "GET /ok HTTP/1.1\r\n" + host + strings.Repeat("X-A: b\r\n", 100) + "\r\n", 431, audit.CodeHeaders},
		{"head", "GET /ok HTTP/1.1\r\n" + host + "X-A: " + strings.Repeat("b", maxHead) + "\r\n\r\n", 431, audit.CodeHeaders},
		{"endless target", "GET /" + strings.Repeat("a", 2*maxHead), 431, audit.CodeHeaders},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := r.say(r.dialTLS(addr, "api.test"), tt.raw)
			if resp.StatusCode != tt.status || resp.Header.Get("X-Omnijail-Code") != string(tt.code) {
				t.Errorf("%d %s %s", resp.StatusCode, resp.Header.Get("X-Omnijail-Code"), body)
			}
			if resp.Header.Get("X-Omnijail-Reason") == "" || resp.Header.Get("X-Omnijail-Id") == "" {
				t.Errorf("reason or id is missing: %v", resp.Header)
			}
		})
	}
	if got := up.all(); len(got) > 0 {
		t.Errorf("the upstream saw %d requests, the first %s %s", len(got), got[0].Method, got[0].RequestURI)
	}
	r.audit.mu.Lock()
	defer r.audit.mu.Unlock()
	for _, e := range r.audit.opened {
		if e.Decision != audit.Deny {
			t.Errorf("recorded as allowed: %+v", e)
		}
	}
}

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
	want := http.Header{"X-Keep": {"yes"}, "Authorization": {"Bearer " + secretValue}}
	if len(got[0].Header) != len(want) {
		t.Errorf("the upstream saw %v", got[0].Header)
	}
	for name, v := range want {
		if got[0].Header.Get(name) != v[0] {
			t.Errorf("%s is %q", name, got[0].Header.Get(name))
		}
	}
}

// TestPlaceholders tries a placeholder in every place where it does not belong,
// and the one where it does.
func TestPlaceholders(t *testing.T) {
	r := newRig(t, options{rules: []string{"* api.test", "* other.test"}, bindings: []creds.Binding{bearer("api.test")}})
	r.resolve(0)
	mine := r.table.Placeholders()["TOKEN"]
	unknown := "oa_cred_" + strings.Repeat("A", 43)
	up := &seen{}
	api, other := r.serve("api.test:443", up), r.serve("other.test:443", up)
	basic := func(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(s)) }
	var bodies []string
	for _, tt := range []struct{ name, host, target, header string }{
		{"another host", "other.test", "/", "Authorization: Bearer " + mine},
		{"unknown", "api.test", "/", "Authorization: Bearer " + unknown},
		{"other header", "api.test", "/", "X-Api-Key: " + mine},
		{"cookie", "api.test", "/", "Cookie: a=" + mine},
		{"query", "api.test", "/?t=" + mine, "X: y"},
		{"path", "api.test", "/" + mine, "X: y"},
		{"percent", "api.test", "/?t=%6fa_cred_" + mine[len("oa_cred_"):], "X: y"},
		{"user agent", "api.test", "/", "User-Agent: x/" + mine},
		{"basic user", "api.test", "/", "Authorization: " + basic(mine+":x")},
		{"basic at another host", "other.test", "/", "Authorization: " + basic("x:"+mine)},
		{"dropped header", "api.test", "/", "Proxy-Authorization: Bearer " + mine},
		{"forwarded header", "api.test", "/", "X-Forwarded-For: " + mine},
		{"hop-by-hop", "api.test", "/", "X-Hop: " + mine + "\r\nConnection: X-Hop"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			addr := api
			if tt.host == "other.test" {
				addr = other
			}
			resp, body := r.say(r.dialTLS(addr, tt.host), "GET "+tt.target+" HTTP/1.1\r\nHost: "+tt.host+"\r\n"+tt.header+"\r\n\r\n")
			if resp.StatusCode != 403 || resp.Header.Get("X-Omnijail-Code") != string(audit.CodePlaceholder) {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
			bodies = append(bodies, strings.ReplaceAll(body, resp.Header.Get("X-Omnijail-Id"), "ID"))
		})
	}
	for _, b := range bodies {
		if b != bodies[0] {
			t.Errorf("two answers tell placeholders apart:\n%s%s", bodies[0], b)
		}
	}
	if got := up.all(); len(got) > 0 {
		t.Errorf("the upstream saw %d requests", len(got))
	}
	if resp, _ := r.say(r.dialTLS(api, "api.test"), "GET / HTTP/1.1\r\nHost: api.test\r\nAuthorization: Bearer "+mine+"\r\n\r\n"); resp.StatusCode != 200 {
		t.Errorf("the right placeholder in its place: %d", resp.StatusCode)
	}
	if got := up.all(); len(got) != 1 || got[0].Header.Get("Authorization") != "Bearer "+secretValue {
		t.Errorf("the upstream saw %v", got)
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

// TestPipelined holds that each of many requests in one packet is judged alone.
func TestPipelined(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test/ok"}})
	up := &seen{}
	c := r.dialTLS(r.serve("api.test:443", up), "api.test")
	var raw strings.Builder
	for i := range 20 {
		path := map[bool]string{true: "/ok", false: "/no"}[i%2 == 0]
		raw.WriteString("GET " + path + " HTTP/1.1\r\nHost: api.test\r\n\r\n")
	}
	io.WriteString(c, raw.String())
	br := bufio.NewReader(c)
	for i := range 20 {
		resp, _ := readReply(t, br, nil)
		if want := map[bool]int{true: 200, false: 403}[i%2 == 0]; resp.StatusCode != want {
			t.Errorf("request %d: %d", i, resp.StatusCode)
		}
	}
	if n := len(up.all()); n != 10 {
		t.Errorf("the upstream saw %d requests", n)
	}
}
