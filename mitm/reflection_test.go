package mitm

import (
	"bufio"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

// The attacks A58 to A71: a reply brings the secret into the jail. The lab's oracle
// looks for it in every byte that the jail's raw clients read.

// vault is an upstream that keeps what a credentialed request said and tells it to
// requests without a credential.
type vault struct {
	mu   sync.Mutex
	kept string
}

func (v *vault) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if a := req.Header.Get("Authorization"); a != "" {
		v.kept = a
	}
	switch req.URL.Path {
	case "/body":
		io.WriteString(w, "you said "+v.kept)
	case "/header":
		w.Header().Set("X-Echo", v.kept)
		w.Header().Set("Www-Authenticate", `Bearer realm="`+v.kept+`"`)
	case "/name":
		w.Header()[strings.TrimPrefix(v.kept, "Bearer ")] = []string{"1"}
	case "/location":
		w.Header().Set("Location", "https://good.test/?t="+v.kept)
		w.WriteHeader(http.StatusFound)
	case "/hex":
		io.WriteString(w, hex.EncodeToString([]byte(v.kept)))
	case "/trailer":
		w.Header().Set("Trailer", "X-Echo")
		io.WriteString(w, "body")
		w.Header().Set("X-Echo", v.kept)
	case "/announced":
		w.Header().Set("Trailer", strings.TrimPrefix(v.kept, "Bearer "))
		io.WriteString(w, "body")
	case "/events":
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range v.kept {
			fmt.Fprintf(w, "%c", v.kept[i])
			w.(http.Flusher).Flush()
		}
		io.WriteString(w, "\n\n")
	}
}

// storeAndFetch is a lab whose credential is for /api alone, after a request that
// carried it.
func storeAndFetch(t *testing.T, o labOptions) *lab {
	t.Helper()
	if o.answer == nil {
		o.answer = new(vault).ServeHTTP
	}
	binding := o.binding
	o.binding = func(b *creds.Binding) {
		b.Targets[0].Path = "/api/**"
		if binding != nil {
			binding(b)
		}
	}
	l := newLab(t, o)
	if resp, _ := l.ask(send("GET", "/api/store")); resp.StatusCode != 200 {
		t.Fatalf("the store says %d", resp.StatusCode)
	}
	return l
}

func TestS19_StoreAndFetch(t *testing.T) {
	for _, surface := range []string{"body", "header", "name", "location", "hex", "trailer", "announced", "events"} {
		for _, http2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, upstream over HTTP/2 %v", surface, http2), func(t *testing.T) {
				l := storeAndFetch(t, labOptions{http2: http2})
				resp, body := l.ask(send("GET", "/"+surface))
				text := fmt.Sprint(resp.Header, resp.Trailer, body)
				if strings.Contains(strings.ToLower(text+l.heard.String()), secretValue) {
					t.Errorf("the jail has the secret: %s", text)
				}
				if surface != "name" && surface != "announced" && !strings.Contains(text, "************") {
					t.Errorf("the reply is not masked: %s", text)
				}
				l.reflection(t, audit.Allow)
				l.overHTTP2(t, "/"+surface)
			})
		}
	}
}

// reflection wants the record of one. It is made before the reply goes on.
func (l *lab) reflection(t *testing.T, d audit.Decision) {
	t.Helper()
	if !slices.ContainsFunc(l.audit.all(), func(e Event) bool {
		return e.Kind == audit.KindReflection && e.Decision == d && e.Code == audit.CodeReflection && e.Authority.Host() == "good.test"
	}) {
		t.Errorf("no reflection is recorded: %+v", l.audit.all())
	}
}

// overHTTP2 fetches target with a client of HTTP/2 and holds that no form of the
// secret came.
func (l *lab) overHTTP2(t *testing.T, target string) {
	t.Helper()
	c := l.http2Client(l.addr)
	resp, err := c.Get("https://good.test" + target)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
}

func TestS19_AnotherPortOfTheHost(t *testing.T) {
	v := new(vault)
	l := storeAndFetch(t, labOptions{answer: v.ServeHTTP, rules: []string{"* good.test:8443", "GET http://good.test"}})
	c := tappedConn{l.dialTLS(l.serve("good.test:8443", v), "good.test"), l.heard}
	l.say(c, "GET /body HTTP/1.1\r\nHost: good.test:8443\r\nConnection: close\r\n\r\n")
	c.Close()
	plain, err := net.Dial("tcp", l.serve("good.test:80", v))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	l.say(tappedConn{plain, l.heard}, "GET /body HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\n\r\n")
}

// TestS19_TenThousandGuesses asks an upstream that tells what it was told, with each
// guess beside it: nobody gets an answer to more than a few.
func TestS19_TenThousandGuesses(t *testing.T) {
	l := newLab(t, labOptions{answer: func(w http.ResponseWriter, req *http.Request) {
		io.WriteString(w, req.Header.Get("Authorization")+" "+req.Header.Get("X-Guess"))
	}})
	c := l.raw()
	br, answered := bufio.NewReader(c), 0
	for i := range 10_000 {
		if _, err := io.WriteString(c, send("GET", "/", fmt.Sprintf("X-Guess: secret-%05d", i))); err != nil {
			break
		}
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			c.Close()
			c = l.raw()
			br.Reset(c)
			continue
		}
		io.Copy(io.Discard, resp.Body)
		if resp.StatusCode == http.StatusOK {
			answered++
		}
		if code := resp.Header.Get("X-Omnijail-Code"); code != "" && code != string(audit.CodeFrozen) && code != string(audit.CodeFlood) {
			t.Fatalf("guess %d: %s", i, code)
		}
	}
	c.Close()
	if answered >= maxReflections {
		t.Errorf("%d guesses were answered", answered)
	}
	l.reflection(t, audit.Deny)
}

// TestA58_TheAnswersOfThePolicy tries each word of on_reflection.
func TestA58_TheAnswersOfThePolicy(t *testing.T) {
	for _, how := range []Reflection{ReflectionAbort, ReflectionFreeze} {
		for _, surface := range []string{"header", "body", "events"} {
			t.Run(fmt.Sprint(how, " ", surface), func(t *testing.T) {
				l := storeAndFetch(t, labOptions{config: func(c *Config) { c.OnReflection = how }})
				c := l.raw()
				io.WriteString(c, send("GET", "/"+surface))
				resp, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err == nil && resp.StatusCode == 200 {
					_, err = io.ReadAll(resp.Body)
				}
				if err == nil && (resp.StatusCode == 200 || surface != "header") {
					t.Error("the reply is whole")
				}
				c.Close()
				l.reflection(t, audit.Deny)
				want := map[Reflection]int{ReflectionAbort: 200, ReflectionFreeze: 403}[how]
				if resp, _ := l.ask(send("GET", "/nothing")); resp.StatusCode != want {
					t.Errorf("the next request is answered with %d, want %d", resp.StatusCode, want)
				}
			})
		}
	}
}

// TestA59_HeadsOfEveryKind has an upstream put the secret into the reason, an interim
// reply and a cookie.
func TestA59_HeadsOfEveryKind(t *testing.T) {
	l := storeAndFetch(t, labOptions{})
	reply := "HTTP/1.1 103 Early Hints\r\nLink: <" + secretValue + ">\r\n\r\n" +
		"HTTP/1.1 200 " + secretValue + "\r\nSet-Cookie: a=" + secretValue + "\r\nContent-Length: 2\r\n\r\nok"
	c := tappedConn{l.dialTLS(l.at("good.test:443", l.rawTLS(reply)), "good.test"), l.heard}
	defer c.Close()
	if resp, body := l.say(c, send("GET", "/x", "Connection: close")); resp.StatusCode != 200 || body != "ok" || resp.Status != "200 OK" {
		t.Errorf("%s %q", resp.Status, body)
	}
}

// rawTLS is an upstream with a certificate for good.test that answers with bytes.
func (l *lab) rawTLS(reply string) string {
	l.t.Helper()
	cert, err := testAuthority().mint(mustAuthority(l.t, "good.test:443"), time.Now())
	if err != nil {
		l.t.Fatal(err)
	}
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{*cert}})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { ln.Close() })
	go answerRaw(ln, reply)
	return ln.Addr().String()
}

// TestA65_ByteRanges asks for four bytes of an echo.
func TestA65_ByteRanges(t *testing.T) {
	echo := func(w http.ResponseWriter, req *http.Request) {
		if strings.HasPrefix(req.URL.Path, "/forced") || req.Header.Get("Range") != "" {
			w.Header().Set("Content-Range", "bytes 7-10/40")
			w.WriteHeader(http.StatusPartialContent)
			io.WriteString(w, secretValue[:4])
			return
		}
		io.WriteString(w, "whole")
	}
	l := newLab(t, labOptions{answer: echo})
	if resp, body := l.ask(send("GET", "/", "Range: bytes=7-10", "If-Range: x")); resp.StatusCode != 200 || body != "whole" {
		t.Errorf("%d %q", resp.StatusCode, body)
	}
	if resp, body := l.ask(send("GET", "/forced")); resp.StatusCode != 502 {
		t.Errorf("unasked: %d %q", resp.StatusCode, body)
	}
	if h := l.good.all()[0].Header; h.Get("Range") != "" || h.Get("If-Range") != "" || h.Get("Accept-Encoding") != "identity" {
		t.Errorf("the upstream saw %v", h)
	}
	open := newLab(t, labOptions{answer: echo, config: withRules([]egress.Rule{{Host: "good.test", Port: 443, Range: true}, {Host: "evil.test", Port: 443}})})
	if resp, _ := open.ask(send("GET", "/", "Range: bytes=7-10")); resp.StatusCode != 206 {
		t.Errorf("with range: true: %d", resp.StatusCode)
	}
}
