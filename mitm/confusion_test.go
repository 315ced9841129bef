package mitm

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/audit"
)

// The attacks A18 to A30: two readings of who a request is for, where it ends,
// and what it asks for. Each ends with the lab's oracle.

func TestA18_AnotherHostInside(t *testing.T) {
	l := newLab(t, labOptions{})
	var tries []try
	for _, host := range []string{"evil.test", "evil.test:443", "good.test:8443", "good.test.evil.test", "EVIL.TEST."} {
		tries = append(tries, try{host, sendTo(host, "GET", "/"), 421, audit.CodeAuthority, ""})
	}
	l.each(t, tries)
}

func TestA19_AnotherNameInTheHandshake(t *testing.T) {
	l := newLab(t, labOptions{})
	for sni, alert := range map[string]string{
		"evil.test": "unrecognized name", "good.test.evil.test": "unrecognized name", "xgood.test": "unrecognized name",
		"good.test": "", "GOOD.test": "",
		"": "", // the address says which name was looked up
	} {
		raw, err := net.Dial("tcp", l.addr)
		if err != nil {
			t.Fatal(err)
		}
		err = tls.Client(raw, &tls.Config{InsecureSkipVerify: true, ServerName: sni}).Handshake()
		if (err == nil) != (alert == "") || err != nil && !strings.Contains(err.Error(), alert) {
			t.Errorf("%q: %v, want %q", sni, err, alert)
		}
		raw.Close()
	}
	for _, address := range []string{"198.18.0.1", "127.0.0.1", "1.2.3.4"} {
		raw, err := net.Dial("tcp", l.addr)
		if err != nil {
			t.Fatal(err)
		}
		// No client of Go's says an address: it is written over a name of its length.
		said := strings.ReplaceAll(address, ".", "x")
		err = tls.Client(rewriting{raw, said, address}, &tls.Config{InsecureSkipVerify: true, ServerName: said}).Handshake()
		if err == nil || !strings.Contains(err.Error(), "unrecognized name") {
			t.Errorf("%s: %v", address, err)
		}
		raw.Close()
	}
	if n := l.good.accepted(); n > 0 {
		t.Errorf("%d connections to the upstream for handshakes alone", n)
	}
}

// rewriting is a connection on which one text is written as another.
type rewriting struct {
	net.Conn
	from, to string
}

func (c rewriting) Write(b []byte) (int, error) {
	return c.Conn.Write([]byte(strings.ReplaceAll(string(b), c.from, c.to)))
}

func TestA20_AbsoluteForm(t *testing.T) {
	l := newLab(t, labOptions{})
	var tries []try
	for _, target := range []string{
		"https://evil.test/", "http://evil.test/", "https://good.test/", "https://good.test@evil.test/", "HTTPS://EVIL.TEST/", "evil.test", "//evil.test/", "https:x",
	} {
		tries = append(tries, try{target, send("GET", target), 400, audit.CodeBadRequest, ""})
	}
	l.each(t, tries)
}

// TestA21_ConnectTargets tries every form inside a connection. There is no CONNECT
// outside of one: the destination is the address that was connected to.
func TestA21_ConnectTargets(t *testing.T) {
	l := newLab(t, labOptions{})
	var tries []try
	for _, target := range []string{
		"evil.test:443", "evil.test", "good.test:443", "good.test:0443", "good.test:99999", "user@evil.test:443", "evil.test/path", "evil.test?x", "//evil.test",
		"/x", "*", "good.test,evil.test", "[::1]:443",
	} {
		tries = append(tries, try{target, send("CONNECT", target), 405, audit.CodeMethod, ""})
	}
	for _, target := range []string{"\u0435vil.test:443", "evil.test\x00:443", "evil.test 443", "evil.test:443#", "%65vil.test:443"} {
		tries = append(tries, try{target, send("CONNECT", target), 400, audit.CodeBadRequest, ""})
	}
	l.each(t, tries)
}

func TestA22_SpellingsOfTheName(t *testing.T) {
	l := newLab(t, labOptions{})
	tries := []try{
		{"upper case", sendTo("GOOD.test", "GET", "/1"), 200, "", ""},
		{"trailing dot", sendTo("good.test.", "GET", "/2"), 200, "", ""},
		{"its port", sendTo("good.test:443", "GET", "/3"), 200, "", ""},
	}
	for _, host := range []string{
		"good.test..", ".good.test", "good..test", "g\u043eod.test", "ｇood.test", "good。test", "-good.test", "good-.test",
		strings.Repeat("a", 64) + ".test", strings.Repeat("abc.", 63) + "test", "good.test:", "good.test:x",
	} {
		tries = append(tries, try{host, sendTo(host, "GET", "/"), 400, audit.CodeBadRequest, ""})
	}
	tries = append(tries, try{"underscore", sendTo("good_.test", "GET", "/"), 421, audit.CodeAuthority, ""},
		try{"punycode", sendTo("xn--god-gna.test", "GET", "/"), 421, audit.CodeAuthority, ""})
	l.each(t, tries, "GET /1", "GET /2", "GET /3")
	for _, req := range l.good.all() {
		if req.Host != "good.test" || req.Header.Get("Authorization") == "" {
			t.Errorf("%s was sent for %q", req.RequestURI, req.Host)
		}
	}
}

// TestA23_OddAddresses tries them as a Host; TestS13_Guard tries them as answers
// of the resolver.
func TestA23_OddAddresses(t *testing.T) {
	l := newLab(t, labOptions{})
	var tries []try
	for _, host := range []string{"0x7f000001", "0x7f.1", "2130706433", "127.1", "0177.0.0.1", "127.0.0.1.", "1.2.3.04", "[fe80::1%eth0]", "[::1", "::1"} {
		tries = append(tries, try{host, sendTo(host, "GET", "/"), 400, audit.CodeBadRequest, ""})
	}
	for _, host := range []string{"127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "169.254.169.254"} {
		tries = append(tries, try{host, sendTo(host, "GET", "/"), 421, audit.CodeAuthority, ""})
	}
	l.each(t, tries)
}

func TestA24_TwoHostsOrHalfOfOne(t *testing.T) {
	l := newLab(t, labOptions{})
	tries := []try{
		{"twice the same", send("GET", "/", "Host: good.test"), 400, audit.CodeBadRequest, ""},
		{"good, evil", send("GET", "/", "Host: evil.test"), 400, audit.CodeBadRequest, ""},
		{"evil, good", sendTo("evil.test", "GET", "/", "host: good.test"), 400, audit.CodeBadRequest, ""},
		{"none", "GET / HTTP/1.1\r\n\r\n", 400, audit.CodeBadRequest, ""},
	}
	for _, host := range []string{"good.test/evil", "u@good.test", "good.test evil.test", "good.test,evil.test", "good.test#", "good.test?", "good.test\\evil"} {
		tries = append(tries, try{host, sendTo(host, "GET", "/"), 400, audit.CodeBadRequest, ""})
	}
	l.each(t, tries)
}

func TestA25_TwoLengths(t *testing.T) {
	l := newLab(t, labOptions{answer: func(w http.ResponseWriter, req *http.Request) { io.Copy(io.Discard, req.Body) }})
	const smuggled = "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: good.test\r\n\r\n"
	var tries []try
	for name, lines := range map[string][]string{
		"both":           {"Content-Length: 6", "Transfer-Encoding: chunked"},
		"both, reversed": {"Transfer-Encoding: chunked", "Content-Length: 6"},
		"two lengths":    {"Content-Length: 6", "Content-Length: 50"},
		"twice the same": {"Content-Length: 6", "Content-Length: 6"},
		"a list":         {"Content-Length: 6, 6"},
		"signed":         {"Content-Length: +6"},
		"negative":       {"Content-Length: -1"},
		"hexadecimal":    {"Content-Length: 0x6"},
		"too long":       {"Content-Length: 99999999999999999999"},
		"empty":          {"Content-Length:"},
		"xchunked":       {"Transfer-Encoding: xchunked"},
		"gzip, chunked":  {"Transfer-Encoding: gzip, chunked"},
		"twice chunked":  {"Transfer-Encoding: chunked", "Transfer-Encoding: chunked"},
		"identity":       {"Transfer-Encoding: identity"},
		"quoted":         {`Transfer-Encoding: "chunked"`},
		"tab":            {"Transfer-Encoding:\tchunked\x0b"},
		"blank before":   {"Transfer-Encoding : chunked"},
	} {
		tries = append(tries, try{name, send("POST", "/", lines...) + smuggled, 400, audit.CodeBadRequest, ""})
	}
	tries = append(tries, try{"HTTP/1.0", "POST / HTTP/1.0\r\nHost: good.test\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled, 400, audit.CodeBadRequest, ""})
	l.each(t, tries)
}

// TestA25_BodiesThatNobodyExpects: a server may overlook the body of a method that has
// none, and read it as the next request. It is told that there is none.
func TestA25_BodiesThatNobodyExpects(t *testing.T) {
	leavesNothing(t)
	const smuggled = "GET /no HTTP/1.1\r\nHost: api.test\r\n\r\n"
	sent := func(t *testing.T, c net.Conn, raw string) *bufio.Reader {
		io.WriteString(c, raw)
		return bufio.NewReader(c)
	}
	careless := newScript(t, func(_ *script, _ int, c net.Conn, req *http.Request) bool {
		if req.Method == "POST" {
			io.Copy(io.Discard, req.Body)
		}
		ok(c, "a")
		return !req.Close
	})
	var want []string
	for i, method := range []string{"GET", "HEAD", "OPTIONS"} {
		r := newRig(t, options{rules: []string{"* http://api.test/ok"}})
		c, err := net.Dial("tcp", r.at("api.test:80", careless.addr))
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := http.ReadResponse(sent(t, c, sendTo("api.test", method, "/ok", fmt.Sprint("Content-Length: ", len(smuggled)), "Connection: close")+smuggled), &http.Request{Method: method}); err != nil || resp.StatusCode != 200 {
			t.Errorf("%s: %v %v", method, resp, err)
		}
		io.Copy(io.Discard, c)
		c.Close()
		want = append(want, fmt.Sprint(i+1, " ", method, " /ok"))
	}
	if got := careless.requests(); !slices.Equal(got, want) {
		t.Errorf("the upstream saw %q, want %q", got, want)
	}
}

func TestA26_OddChunks(t *testing.T) {
	l := newLab(t, labOptions{answer: func(w http.ResponseWriter, req *http.Request) {
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			panic(http.ErrAbortHandler)
		}
	}})
	chunked := func(body string, lines ...string) string {
		return send("POST", "/", append(lines, "Transfer-Encoding: chunked")...) + body
	}
	l.each(t, []try{
		{"extension", chunked("3;a=b;c=\"d\"\r\nabc\r\n0\r\n\r\n"), 200, "", ""},
		{"bad trailers", chunked("3\r\nabc\r\n0\r\nAuthorization: Bearer x\r\nHost: evil.test\r\nContent-Length: 9\r\n\r\n",
			"Trailer: Authorization, Host, Content-Length, X-A"), 400, audit.CodeBadRequest, ""},
		{"allowed trailer", chunked("3\r\nabc\r\n0\r\nX-A: b\r\n\r\n", "Trailer: X-A"), 200, "", ""},
		{"trailer that was not named", chunked("3\r\nabc\r\n0\r\nX-Authorization: b\r\n\r\n"), 200, "", ""},
		{"LF alone", "POST / HTTP/1.1\nHost: good.test\nTransfer-Encoding: chunked\n\n0\n\n", 400, audit.CodeBadRequest, ""},
	}, slices.Repeat([]string{"POST /"}, 3)...)
	for name, body := range map[string]string{
		"no number": "x\r\nabc\r\n0\r\n\r\n", "signed": "+3\r\nabc\r\n0\r\n\r\n", "0x": "0x3\r\nabc\r\n0\r\n\r\n", "too large": "fffffffffffffffff\r\nabc",
		"endless line": "3;" + pad(70<<10) + "\r\nabc\r\n0\r\n\r\n", "short": "2\r\nabc\r\n0\r\n\r\n", "long": "4\r\nabc\r\n0\r\n\r\n",
	} {
		c := l.raw()
		io.WriteString(c, chunked(body))
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil && resp.StatusCode < 400 {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
		c.Close()
	}
	for _, text := range []string{";a=b", "Host: evil.test", "Bearer x", "X-Authorization"} {
		if strings.Contains(l.good.text(), text) {
			t.Errorf("%q reached the upstream", text)
		}
	}
}

func TestA27_OddFields(t *testing.T) {
	l := newLab(t, labOptions{})
	var tries []try
	for name, line := range map[string]string{
		"folded": "X-A: a\r\n b", "folded by a tab": "X-A: a\r\n\tb", "blank before the colon": "Authorization : Bearer x", "NUL": "X-A: a\x00b",
		"bare CR": "X-A: a\rHost: evil.test", "bare LF": "X-A: a\nHost: evil.test", "8 bit name": "X\xff: a", "no colon": "X-A", "no name": ": a",
		"blank in the name": "X A: a", "control byte": "X-A: \x01", "DEL": "X-A: \x7f", "blank first": " X-A: a",
	} {
		tries = append(tries, try{name, send("GET", "/", line), 400, audit.CodeBadRequest, ""})
	}
	l.each(t, tries)
}

func TestA28_HopByHopOfOurs(t *testing.T) {
	l := newLab(t, labOptions{})
	var tries []try
	for _, name := range []string{"Authorization", "host", "Cookie", "Content-Length", "content-type", "close, AUTHORIZATION"} {
		tries = append(tries, try{name, send("GET", "/no", "Connection: "+name), 400, audit.CodeBadRequest, ""})
	}
	tries = append(tries, try{"its own", send("GET", "/yes", "Connection: x-a, keep-alive", "X-A: 1", "Keep-Alive: 5", "X-B: 2"), 200, "", ""})
	l.each(t, tries, "GET /yes")
	if h := l.good.all()[0].Header; h.Get("X-A") != "" || h.Get("Keep-Alive") != "" || h.Get("X-B") != "2" || h.Get("Authorization") != "Bearer "+secretValue {
		t.Errorf("the upstream saw %v", h)
	}
}

func TestA29_WordsAboutTheRequest(t *testing.T) {
	l := newLab(t, labOptions{})
	var tries []try
	for _, name := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Original-URL", "X-Rewrite-URL", "X_HTTP_Method_Override"} {
		tries = append(tries, try{name, send("POST", "/no", name+": /admin", "Content-Length: 0"), 403, audit.CodeMethod, ""})
	}
	tries = append(tries, try{"_method", send("POST", "/no?_method=DELETE", "Content-Length: 0"), 403, audit.CodeMethod, ""})
	for _, name := range []string{"Transfer_Encoding", "content_length", "X_Forwarded-For", "Proxy_Connection"} {
		tries = append(tries, try{name, send("POST", "/no", name+": chunked", "Content-Length: 5") + "0\r\n\r\n", 400, audit.CodeBadRequest, ""})
	}
	tries = append(tries, try{"dropped", send("GET", "/yes", "Authorization_: Bearer x", "Authorization-: Bearer x", "X_Request_Id: 1", "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: evil.test", "X-Forwarded-Proto: http",
		"Forwarded: for=127.0.0.1", "Via: 1.1 x", "Proxy-Connection: close", "Proxy-Authorization: Basic x"), 200, "", ""})
	l.each(t, tries, "GET /yes")
	sent := l.good.all()[0].Header
	if sent.Get("Authorization") != "Bearer "+secretValue || sent.Get("X_Request_Id") != "1" {
		t.Errorf("the upstream saw %v", sent)
	}
	for name := range sent {
		if strings.HasPrefix(name, "X-Forwarded") || strings.HasPrefix(name, "Proxy-") || name == "Via" || name == "Forwarded" {
			t.Errorf("%s reached the upstream", name)
		}
	}
}

// TestA30_TwoReadingsOfAPath also holds S30: what a second decoding, or a server
// with path parameters, would read as another path.
func TestA30_TwoReadingsOfAPath(t *testing.T) {
	l := newLab(t, labOptions{config: withRules(mustRules(t, "* good.test/repos/**", "* evil.test"))})
	var tries []try
	for _, path := range []string{
		"/repos/../admin", "/repos/%2e%2e/admin", "/repos/.%2E/admin", "/repos/x/..", "/repos/./x", "/repos//x", "//repos/x", "/repos/..%2fadmin", "/repos/%5c..%5cadmin",
		"/repos\\..\\admin", "/repos/%00", "/repos/%zz", "/repos/%2", "/repos/a#b", "/repos/..;/admin", "/repos/..;x=1/admin", "/repos/.;/x", "/repos/%252e%252e/admin",
		"/repos/%252fadmin", "/repos/%255cadmin", "/repos/%2500", "/repos/a%2fb",
	} {
		tries = append(tries, try{path, send("GET", path), 400, audit.CodeBadRequest, ""})
	}
	tries = append(tries,
		try{"another path", send("GET", "/admin"), 403, audit.CodeNoRule, ""},
		try{"another case", send("GET", "/REPOS/x"), 403, audit.CodeNoRule, ""},
		try{"escaped letters", send("GET", "/%72epos/%7ex"), 200, "", ""},
		try{"parameters", send("GET", "/repos/a;x=1"), 200, "", ""},
	)
	l.each(t, tries, "GET /repos/~x", "GET /repos/a;x=1")
	if !strings.Contains(l.good.text(), "GET /repos/~x HTTP/1.1\r\n") {
		t.Error("the bytes that were judged are not those that were sent")
	}
	for _, e := range l.audit.all() {
		if e.Decision == audit.Allow && !strings.HasPrefix(e.Path, "/repos/") {
			t.Errorf("recorded %+v", e)
		}
	}
}
