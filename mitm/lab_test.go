package mitm

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
)

// lab is the rig of the attack catalogue: good.test, whose credential the jail
// does not know, and evil.test, which its rules allow too. What must hold after
// every attack is checked when the test ends, by one function.
type lab struct {
	*rig
	good, evil *wiretap
	addr       string // where the jail reaches good.test
	evilAddr   string

	earned  []string // what the secret has earned and the jail must not have either
	started stock
	logged  transcript
}

// labOptions change a lab before it starts.
type labOptions struct {
	rules     []string // besides those for good.test and evil.test
	binding   func(*creds.Binding)
	unbound   bool // no credential at all
	answer    http.HandlerFunc
	http2     bool // good.test offers it
	config    func(*Config)
	up        func(*Upstream)
	evilHeard bool // the attack is a request that evil.test may see
}

func newLab(t *testing.T, o labOptions) *lab {
	t.Helper()
	l := &lab{good: &wiretap{}, evil: &wiretap{}, started: takeStock(t)}
	log.SetOutput(&l.logged)
	t.Cleanup(func() { l.oracle(t, o.evilHeard) }) // last of all: after all that is closed below
	b := bearer("good.test")
	if o.binding != nil {
		o.binding(&b)
	}
	bindings := []creds.Binding{b}
	if o.unbound {
		bindings = nil
	}
	rules := append([]string{"* good.test", "* evil.test"}, o.rules...)
	l.rig = newRig(t, options{rules: rules, bindings: bindings, config: o.config, up: o.up})
	l.heard = &transcript{}
	if !o.unbound {
		l.resolve(0)
	}
	l.upstream.Hosts["good.test:443"] = netip.MustParseAddrPort(l.good.serve(l.rig, "good.test:443", o.answer, o.http2))
	l.upstream.Hosts["evil.test:443"] = netip.MustParseAddrPort(l.evil.serve(l.rig, "evil.test:443", nil, false))
	l.addr, l.evilAddr = l.open("good.test:443"), l.open("evil.test:443")
	return l
}

// oracle holds after every attack: the wrong upstream saw no connection, nothing
// that the jail got, nothing logged and nothing recorded has any form of the
// secret, and no goroutine and no descriptor is left.
func (l *lab) oracle(t *testing.T, evilHeard bool) {
	log.SetOutput(os.Stderr)
	if n := l.evil.accepted(); n > 0 && !evilHeard {
		t.Errorf("the wrong upstream saw %d connections and %q", n, l.evil.text())
	}
	record := fmt.Sprintf("%+v %+v", l.audit.opened, l.audit.ended)
	for where, text := range map[string]string{"the jail": l.heard.String(), "the log": l.logged.String(), "the audit": record} {
		for _, secret := range append(l.earned, secretValue) {
			for _, form := range formsOf(secret) {
				if strings.Contains(text, form) {
					t.Errorf("%s has a secret, as %q", where, form)
				}
			}
		}
	}
	l.started.restored(t)
}

// formsOf lists what a value may be turned into on its way.
func formsOf(s string) []string {
	reversed := []byte(s)
	slices.Reverse(reversed)
	digits := hex.EncodeToString([]byte(s))
	forms := []string{s, string(reversed), digits, strings.ToUpper(digits), url.QueryEscape(s), url.PathEscape(s)}
	for _, d := range []string{digits, strings.ToUpper(digits)} {
		var percent, json strings.Builder
		for i := 0; i < len(d); i += 2 {
			percent.WriteString("%" + d[i:i+2])
			json.WriteString(`\u00` + d[i:i+2])
		}
		forms = append(forms, percent.String(), json.String())
	}
	for _, pad := range []string{"", "a", "aa"} {
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			e := enc.EncodeToString([]byte(pad + s))
			forms = append(forms, e[4:len(e)-4]) // without the ends, which depend on the neighbours
		}
	}
	return forms
}

// stock counts what a test may leave behind.
type stock struct{ goroutines, files int }

func takeStock(t *testing.T) stock {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") // the poller has files of its own
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return stock{runtime.NumGoroutine(), len(files)}
}

// leavesNothing holds that nothing of a test is left when it ends.
func leavesNothing(t *testing.T) {
	t.Helper()
	s := takeStock(t)
	t.Cleanup(func() { s.restored(t) })
}

func (s stock) restored(t *testing.T) {
	limit := time.Now().Add(20 * time.Second) // only bounds a hang
	for {
		now := takeStock(t)
		if now.goroutines <= s.goroutines && now.files <= s.files {
			return
		}
		if time.Now().After(limit) {
			buf := make([]byte, 64<<10)
			t.Errorf("%+v at the start, %+v now\n%s", s, now, buf[:runtime.Stack(buf, true)])
			return
		}
		runtime.Gosched()
	}
}

// wiretap is an upstream that keeps the very bytes it received.
type wiretap struct {
	seen
	transcript
	mu    sync.Mutex
	conns int
}

// serve starts the upstream and returns its address.
func (w *wiretap) serve(r *rig, authority string, answer http.HandlerFunc, http2 bool) string {
	w.seen.then = answer
	srv := httptest.NewUnstartedServer(&w.seen)
	srv.Config.ErrorLog = quiet
	if http2 {
		srv.EnableHTTP2 = true // its frames are no text; what they said is in seen
		srv.Listener = tapped{srv.Listener, w}
		return r.start(authority, srv)
	}
	cert, err := testAuthority().mint(mustAuthority(r.t, authority), time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	srv.Listener = tapped{tls.NewListener(srv.Listener, &tls.Config{Certificates: []tls.Certificate{*cert}}), w}
	srv.Start()
	r.t.Cleanup(srv.Close)
	return srv.Listener.Addr().String()
}

func (w *wiretap) accepted() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.conns
}

func (w *wiretap) text() string { return w.transcript.String() }

// requestLines are the first lines of what arrived.
func (w *wiretap) requestLines() []string {
	var out []string
	for _, req := range w.all() {
		out = append(out, req.Method+" "+req.RequestURI)
	}
	return out
}

type tapped struct {
	net.Listener
	w *wiretap
}

func (l tapped) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.w.mu.Lock()
	l.w.conns++
	l.w.mu.Unlock()
	return tappedConn{c, &l.w.transcript}, nil
}

// tappedConn keeps what is read from it.
type tappedConn struct {
	net.Conn
	to io.Writer
}

func (c tappedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.to.Write(b[:n])
	return n, err
}

// raw is a jailed client of good.test that writes bytes.
func (l *lab) raw() tappedConn { return tappedConn{l.dialTLS(l.addr, "good.test"), l.heard} }

// ask sends bytes on a connection of their own and reads one reply.
func (l *lab) ask(raw string) (*http.Response, string) {
	l.t.Helper()
	c := l.raw()
	defer c.Close()
	return l.say(c, raw)
}

// to is a jailed client of evil.test, which its rules allow.
func (l *lab) to(host string) tappedConn {
	if host == "evil.test" {
		return tappedConn{l.dialTLS(l.evilAddr, host), l.heard}
	}
	return l.raw()
}

// try is one attack and the answer that is right.
type try struct {
	name   string
	raw    string     // what is sent; good is its destination
	status int        // 0: the connection is closed without an answer
	code   audit.Code // "" for an answer of the upstream's
	host   string     // that is connected to, good.test if empty
}

// each makes every try on a connection of its own, and holds that each refusal is
// recorded and that good.test saw exactly the requests that were allowed.
func (l *lab) each(t *testing.T, tries []try, seen ...string) {
	t.Helper()
	refused := map[audit.Code]int{}
	for _, a := range tries {
		c := l.to(a.host)
		c.SetDeadline(time.Now().Add(20 * time.Second)) // only bounds a hang
		io.WriteString(c, a.raw)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		switch {
		case a.status == 0 && err == nil:
			t.Errorf("%s: answered with %d", a.name, resp.StatusCode)
		case a.status == 0 && isTimeout(err):
			t.Errorf("%s: the connection stays", a.name)
		case a.status != 0 && err != nil:
			t.Errorf("%s: %v", a.name, err)
		case a.code != "" && (resp.Header.Get("X-Omnijail-Reason") == "" || resp.Header.Get("X-Omnijail-Id") == ""):
			t.Errorf("%s: reason or id is missing: %v", a.name, resp.Header)
		case a.status != 0 && (resp.StatusCode != a.status || resp.Header.Get("X-Omnijail-Code") != string(a.code)):
			t.Errorf("%s: %d %s, want %d %s", a.name, resp.StatusCode, resp.Header.Get("X-Omnijail-Reason"), a.status, a.code)
		}
		c.Close()
		if a.code != "" {
			refused[a.code]++
		}
	}
	for code, n := range refused {
		if got := l.recorded(code); got < n {
			t.Errorf("%d refusals with %s are recorded as %d", n, code, got)
		}
	}
	if got := l.good.requestLines(); !slices.Equal(got, seen) {
		t.Errorf("good.test saw %q, want %q", got, seen)
	}
}

// recorded counts the denials with a code.
func (l *lab) recorded(code audit.Code) (n int) {
	for _, e := range l.audit.all() {
		if e.Code == code && e.Decision == audit.Deny {
			n++
		}
	}
	return n
}

// placeholder is what the jail has in place of the secret.
func (l *lab) placeholder() string { return l.table.Placeholders()["TOKEN"] }

// send is a request to good.test with more header lines.
func send(method, target string, lines ...string) string {
	return sendTo("good.test", method, target, lines...)
}

func sendTo(host, method, target string, lines ...string) string {
	return method + " " + target + " HTTP/1.1\r\nHost: " + host + "\r\n" + strings.Join(append(lines, ""), "\r\n") + "\r\n"
}
