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
	"time"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

// The attacks A31 to A41: the request line, changes of protocol, and replies. Each
// ends with the lab's oracle.

func TestA31_QueryIsNoPath(t *testing.T) {
	rules := mustRules(t, "GET good.test/search", "* evil.test")
	rules = append(rules, egress.Rule{Host: "good.test", Port: 443, Path: "/info", Query: map[string]string{"service": "git-upload-*"}})
	l := newLab(t, labOptions{config: withRules(rules)})
	l.each(t, []try{
		{"free query", send("GET", "/search?q=/../admin"), 200, "", ""},
		{"a path in the query", send("GET", "/?/search"), 403, audit.CodeNoRule, ""},
		{"an escaped question mark", send("GET", "/search%3fx"), 403, audit.CodeNoRule, ""},
		{"listed", send("GET", "/info?service=git-upload-pack&x=1"), 200, "", ""},
		{"missing", send("GET", "/info"), 403, audit.CodeNoRule, ""},
		{"another", send("GET", "/info?service=git-receive-pack"), 403, audit.CodeNoRule, ""},
		{"twice", send("GET", "/info?service=git-upload-pack&service=git-receive-pack"), 403, audit.CodeNoRule, ""},
		{"escaped name", send("GET", "/info?%73ervice=git-receive-pack"), 403, audit.CodeNoRule, ""},
	}, "GET /search?q=/../admin", "GET /info?service=git-upload-pack&x=1")
}

func TestA32_RequestLines(t *testing.T) {
	l := newLab(t, labOptions{})
	host := "\r\nHost: good.test\r\n\r\n"
	l.each(t, []try{
		{"tabs", "GET\t/\tHTTP/1.1" + host, 400, audit.CodeBadRequest, ""},
		{"two blanks", "GET  / HTTP/1.1" + host, 400, audit.CodeBadRequest, ""},
		{"blank in the target", "GET /a b HTTP/1.1" + host, 400, audit.CodeBadRequest, ""},
		{"blank at the end", "GET / HTTP/1.1 " + host, 400, audit.CodeBadRequest, ""},
		{"lower case", "get / HTTP/1.1" + host, 400, audit.CodeBadRequest, ""},
		{"long method", strings.Repeat("A", 17) + " / HTTP/1.1" + host, 400, audit.CodeBadRequest, ""},
		{"HTTP/0.9", "GET /\r\n\r\n", 400, audit.CodeBadRequest, ""},
		{"HTTP/1.9", "GET / HTTP/1.9" + host, 400, audit.CodeBadRequest, ""},
		{"HTTP/2.0", "GET / HTTP/2.0" + host, 400, audit.CodeBadRequest, ""},
		{"lower case version", "GET / http/1.1" + host, 400, audit.CodeBadRequest, ""},
		{"preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, audit.CodeBadRequest, ""},
		{"no target", "GET HTTP/1.1" + host, 400, audit.CodeBadRequest, ""},
		{"empty lines first", "\r\n\r\nGET / HTTP/1.1" + host, 400, audit.CodeBadRequest, ""},
		{"1 MiB target", "GET /" + pad(1<<20) + " HTTP/1.1" + host, 431, audit.CodeHeaders, ""},
		{"101 fields", send("GET", "/", strings.Split(strings.Repeat("X-A: b,", 99)+"X-A: b", ",")...), 431, audit.CodeHeaders, ""},
		{"64 KiB of fields", send("GET", "/", "X-A: "+pad(64<<10)), 431, audit.CodeHeaders, ""},
		{"another method", send("PROPFIND", "/"), 403, audit.CodeNoRule, ""},
		{"odd expectation", send("POST", "/", "Expect: 200-ok", "Content-Length: 1"), 417, audit.CodeBadRequest, ""},
	})
}

func TestA33_ConnectInside(t *testing.T) {
	l := newLab(t, labOptions{})
	tunnelled := "GET /smuggled HTTP/1.1\r\nHost: evil.test\r\n\r\n"
	l.each(t, []try{
		{"evil", "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n" + tunnelled, 405, audit.CodeMethod, ""},
		{"good", "CONNECT good.test:443 HTTP/1.1\r\nHost: good.test\r\n\r\n" + tunnelled, 405, audit.CodeMethod, ""},
		{"with a length", send("CONNECT", "good.test:443", fmt.Sprint("Content-Length: ", len(tunnelled))) + tunnelled, 405, audit.CodeMethod, ""},
	})
}

// TestA34_ConnectOverHTTP2 sends a request of HTTP/1 in the data of a CONNECT, to
// upstreams of both kinds, behind a request that has opened a connection there.
func TestA34_ConnectOverHTTP2(t *testing.T) {
	for _, modern := range []bool{false, true} {
		l := newLab(t, labOptions{http2: modern})
		h := l.dialHTTP2(l.addr, "good.test")
		h.request(1, true, ":method", "GET", ":scheme", "https", ":authority", "good.test", ":path", "/first")
		h.await(1)
		for i, fields := range [][]string{
			{":method", "CONNECT", ":authority", "good.test:443"},
			{":method", "CONNECT", ":authority", "evil.test:443"},
			{":method", "CONNECT", ":scheme", "https", ":authority", "good.test", ":path", "/x"},
			{":method", "CONNECT", ":protocol", "websocket", ":scheme", "https", ":authority", "good.test", ":path", "/x"},
		} {
			id := uint32(2*i + 3)
			h.request(id, false, fields...)
			h.must(h.fr.WriteData(id, true, []byte("GET /smuggled HTTP/1.1\r\nHost: good.test\r\n\r\n")))
			if o := h.await(id); o.status != "405" && o.reset == 0 {
				t.Errorf("%v: %+v", fields, o)
			}
		}
		if got := l.good.requestLines(); !slices.Equal(got, []string{"GET /first"}) {
			t.Errorf("good.test saw %q", got)
		}
	}
}

// TestA35_UpgradeToHTTP2 pins that the offer is ignored, as a server may, because
// some clients make it with every request, and that HTTP/2 unasked is refused.
func TestA35_UpgradeToHTTP2(t *testing.T) {
	l := newLab(t, labOptions{})
	offer := []string{"Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA"}
	preface := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	l.each(t, []try{
		{"offer", send("GET", "/offer", offer...), 200, "", ""},
		{"offer that Connection does not name", send("GET", "/bare", offer[1:]...), 200, "", ""},
		{"preface", preface, 400, audit.CodeBadRequest, ""},
		{"h2", send("GET", "/", "Connection: Upgrade", "Upgrade: h2"), 403, audit.CodeUpgrade, ""},
		{"TLS", send("GET", "/", "Connection: Upgrade", "Upgrade: TLS/1.2"), 403, audit.CodeUpgrade, ""},
		{"websocket", handshake("good.test"), 403, audit.CodeUpgrade, ""},
	}, "GET /offer", "GET /bare")
	c := l.raw()
	defer c.Close()
	io.WriteString(c, send("GET", "/behind", offer...)+preface)
	br := bufio.NewReader(c)
	for _, want := range []int{200, 400} {
		if resp, _ := readReply(t, br, nil); resp.StatusCode != want {
			t.Errorf("%d, want %d", resp.StatusCode, want)
		}
	}
	if text := strings.ToLower(l.good.text()); strings.Contains(text, "upgrade") || strings.Contains(text, "http2-settings") || strings.Contains(text, "pri *") {
		t.Errorf("good.test received %q", l.good.text())
	}
}

func TestA36_ALPN(t *testing.T) {
	l := newLab(t, labOptions{})
	for _, tt := range []struct {
		offers []string
		chosen string // "" when the handshake ends with the alert
	}{
		{[]string{"h2"}, "h2"}, {[]string{"http/1.1"}, "http/1.1"}, {[]string{"h2", "http/1.1"}, "http/1.1"}, {[]string{"h3", "h2"}, "h2"},
		{[]string{"h3"}, ""}, {[]string{"acme-tls/1"}, ""}, {[]string{"h2c"}, ""}, {[]string{"H2"}, ""},
	} {
		raw, err := net.Dial("tcp", l.addr)
		if err != nil {
			t.Fatal(err)
		}
		c := tls.Client(raw, &tls.Config{RootCAs: l.jailRoots(), ServerName: "good.test", NextProtos: tt.offers})
		err = c.Handshake()
		switch {
		case tt.chosen == "" && (err == nil || !strings.Contains(err.Error(), "no application protocol")):
			t.Errorf("%q: %v", tt.offers, err)
		case tt.chosen != "" && (err != nil || c.ConnectionState().NegotiatedProtocol != tt.chosen):
			t.Errorf("%q: %q %v", tt.offers, c.ConnectionState().NegotiatedProtocol, err)
		}
		raw.Close()
	}
}

// TestA37_NoWayToHTTP3 holds what replies must not offer. That no datagram leaves
// a jail is the escape suite's.
func TestA37_NoWayToHTTP3(t *testing.T) {
	l := newLab(t, labOptions{answer: func(w http.ResponseWriter, req *http.Request) { w.Header().Set("Alt-Svc", `h3=":443"; ma=86400`) }})
	if resp, _ := l.ask(send("GET", "/")); resp.StatusCode != 200 || resp.Header.Get("Alt-Svc") != "" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
}

// TestNoUpstreamSpeaksInOurName: what the jail reads of a refusal is ours.
func TestNoUpstreamSpeaksInOurName(t *testing.T) {
	l := newLab(t, labOptions{answer: func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("X-Omnijail-Code", "no_rule")
		w.Header().Set("X-Omnijail-Reason", "allow everything")
		w.Header().Set("X-Omnijail-Id", "0000002a")
	}})
	resp, _ := l.ask(send("GET", "/"))
	for name := range resp.Header {
		if strings.HasPrefix(name, "X-Omnijail") {
			t.Errorf("%s: %s", name, resp.Header.Get(name))
		}
	}
}

func TestA38_TheWrongSideOfTLS(t *testing.T) {
	l := newLab(t, labOptions{})
	plain, err := net.Dial("tcp", l.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if resp, _ := l.say(plain, sendTo("good.test:443", "GET", "/", "Authorization: Bearer x")); resp.StatusCode != 403 || resp.Header.Get("X-Omnijail-Code") != string(audit.CodePlainHTTP) {
		t.Errorf("plain HTTP on 443: %d", resp.StatusCode)
	}
	c, err := tls.Dial("tcp", l.open("good.test:80"), &tls.Config{RootCAs: l.jailRoots(), ServerName: "good.test"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if resp, _ := l.say(c, sendTo("good.test:80", "GET", "/")); resp.StatusCode != 403 || resp.Header.Get("X-Omnijail-Code") != string(audit.CodeNoRule) {
		t.Errorf("TLS on 80: %d", resp.StatusCode)
	}
	if n := l.good.accepted(); n > 0 {
		t.Errorf("%d connections to the upstream", n)
	}
}

// TestA39_LinesInASecret holds that no value can bring a second line into a head, and
// that a request which waited for one ends without a dial.
func TestA39_LinesInASecret(t *testing.T) {
	l := newLab(t, labOptions{})
	for value, good := range map[string]bool{
		"plain": true, "plain\n": true, "plain\r\n": true, "plain\n\n": false, "a\nb": false, "a\r\nX-Evil: 1": false, "a\x00b": false, "a\rb": false, "\n": false, "": false,
	} {
		s, err := creds.Read(strings.NewReader(value))
		if (err == nil) != good || good && string(s.Reveal()) != "plain" {
			t.Errorf("%q: %v", value, err)
		}
		if err != nil && len(value) > 2 && strings.Contains(err.Error(), value[:2]+"b") {
			t.Errorf("%q is quoted: %v", value, err)
		}
	}
	_, err := creds.Read(strings.NewReader(secretValue + "\r\nX-Evil: 1"))
	l.table.Resolve(0, 2, creds.Secret{}, err)
	l.each(t, []try{{"its value is no line", send("GET", "/"), 502, audit.CodeCredential, ""}})
	if n := l.good.accepted(); n > 0 {
		t.Errorf("%d connections to the upstream", n)
	}
}

// TestA40_RepliesNobodyAskedFor lets the upstream send what could be taken for the
// answer to another request. TestOddUpstreams has the other odd replies.
func TestA40_RepliesNobodyAskedFor(t *testing.T) {
	const one = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"
	for name, reply := range map[string]string{
		"two replies":  one + "onetwo" + one + "evl",
		"split header": "HTTP/1.1 200 OK\r\nX-A: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nevl",
		"101 unasked":  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nevl",
		"early hints":  "HTTP/1.1 103 Early Hints\r\nX-Token: " + secretValue + "\r\n\r\n" + one + "one",
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, labOptions{answer: func(w http.ResponseWriter, req *http.Request) {
				c, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					panic(err)
				}
				defer c.Close()
				io.WriteString(c, reply)
			}})
			c := l.raw()
			defer c.Close()
			io.WriteString(c, send("GET", "/1")+send("GET", "/no-such", "Host: x")+send("GET", "/2"))
			br := bufio.NewReader(c)
			resp, err := http.ReadResponse(br, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			if strings.Contains(string(body), "HTTP/1.1") && resp.ContentLength >= 0 || resp.StatusCode == 101 {
				t.Errorf("%d %q", resp.StatusCode, body)
			}
			// The second request is refused by us whatever the upstream has sent.
			if resp, err := http.ReadResponse(br, nil); err == nil && resp.StatusCode != 400 {
				t.Errorf("the second request got %d", resp.StatusCode)
			}
		})
	}
}

func TestA41_OldClientsAndPipelines(t *testing.T) {
	l := newLab(t, labOptions{config: withRules(mustRules(t, "GET,POST good.test/ok", "* evil.test")), answer: func(w http.ResponseWriter, req *http.Request) {
		io.Copy(w, req.Body)
	}})
	var raw strings.Builder
	var want []string
	for i := range 100 {
		switch i % 4 {
		case 0:
			raw.WriteString(send("GET", "/ok"))
		case 1:
			raw.WriteString(send("GET", "/no"))
		case 2:
			raw.WriteString(send("POST", "/ok", "Content-Length: 19") + "GET /x HTTP/1.1\r\n\r\n")
		case 3:
			raw.WriteString(send("POST", "/ok", "Transfer-Encoding: chunked") + "4\r\nGET \r\n0\r\n\r\n")
		}
	}
	c := l.raw()
	defer c.Close()
	go io.WriteString(c, raw.String())
	br := bufio.NewReader(c)
	for i := range 100 {
		status := 200
		if i%4 == 1 {
			status = 403
		} else {
			want = append(want, []string{"GET", "", "POST", "POST"}[i%4]+" /ok")
		}
		if resp, body := readReply(t, br, nil); resp.StatusCode != status {
			t.Errorf("request %d: %d %s", i, resp.StatusCode, body)
		}
	}
	if got := l.good.requestLines(); !slices.Equal(got, want) {
		t.Errorf("good.test saw %q", got)
	}
	l.oldClients(t)
}

// oldClients speaks HTTP/1.0, with and without keep-alive.
func (l *lab) oldClients(t *testing.T) {
	const old = "GET /ok HTTP/1.0\r\nHost: good.test\r\n"
	c := l.raw()
	defer c.Close()
	io.WriteString(c, old+"Connection: keep-alive\r\n\r\n"+"GET /no HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"+old+"\r\n"+old+"\r\n")
	br := bufio.NewReader(c)
	for i, status := range []int{200, 403, 200} {
		resp, body := readReply(t, br, nil)
		if resp.StatusCode != status || len(resp.TransferEncoding) > 0 {
			t.Errorf("HTTP/1.0 request %d: %d %q", i, resp.StatusCode, body)
		}
	}
	c.SetReadDeadline(time.Now().Add(20 * time.Second)) // only bounds a hang
	if _, err := br.ReadByte(); err == nil || isTimeout(err) {
		t.Errorf("the connection goes on behind a request without keep-alive: %v", err)
	}
}
