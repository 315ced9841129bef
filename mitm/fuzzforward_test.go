package mitm

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

// The invariant of both targets: what the upstream received is exactly the list of
// requests that the policy allowed, however the bytes are read.

var forwardRules = []string{"* api.test/ok/**", "* http://api.test/ok/**", "!* api.test/ok/no/**", "!* http://api.test/ok/no/**"}

// FuzzForwarded sends raw bytes on a connection of HTTP/1.
func FuzzForwarded(f *testing.F) {
	for _, s := range []string{
		send("GET", "/ok/1") + send("GET", "/no"),
		send("POST", "/ok/1", "Content-Length: 3") + "abc" + send("GET", "/ok/2"),
		send("POST", "/ok/1", "Transfer-Encoding: chunked", "Trailer: X-A") + "3;x\r\nabc\r\n0\r\nX-A: b\r\n\r\n" + send("GET", "/ok/2"),
		send("POST", "/ok/1", "Content-Length: 6", "Transfer-Encoding: chunked") + "0\r\n\r\nGET /no HTTP/1.1\r\n\r\n",
		send("POST", "/ok/1", "Content-Length: 53", "Transfer_Encoding: chunked") + "0\r\n\r\nGET /no HTTP/1.1\r\nHost: api.test\r\n\r\n" + "GET /no HTTP/1",
		send("GET", "/ok/%2e%2e/no"), send("GET", "/ok/..;/no"), send("GET", "/ok/%252e%252e/no"), send("GET", "//ok"), send("GET", "/ok/a?b=/../c"),
		send("GET", "/ok/1", "Connection: keep-alive, Upgrade", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"),
		send("POST", "/ok/1", "Expect: 100-continue", "Content-Length: 1") + "a",
		"GET /ok/1 HTTP/1.0\r\nHost: good.test\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET /ok/1 HTTP/1.1\nHost: good.test\n\n",
	} {
		f.Add([]byte(strings.ReplaceAll(s, "good.test", "api.test")))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		up := newWitness(t, nil)
		r := newRig(t, options{rules: forwardRules})
		conn, err := net.Dial("tcp", r.at("api.test:80", up.addr()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(20 * time.Second)) // only bounds a hang
		go func() {
			conn.Write(raw)
			conn.(*net.TCPConn).CloseWrite()
		}()
		io.Copy(io.Discard, conn)
		up.judge(r)
	})
}

// FuzzHTTP2Forwarded sends one request of HTTP/2 with any fields at all, to an
// upstream that speaks HTTP/1. Fields are separated by 0xff, names from values by
// 0xfe.
func FuzzHTTP2Forwarded(f *testing.F) {
	join := func(fields ...string) []byte {
		var b bytes.Buffer
		for i := 0; i < len(fields); i += 2 {
			b.WriteString(fields[i] + "\xfe" + fields[i+1] + "\xff")
		}
		return b.Bytes()
	}
	for _, s := range [][]string{
		get("/ok/1"), get("/no"), post("/ok/1", "content-length", "3"), post("/ok/1", "transfer-encoding", "chunked"), get("/ok/1 HTTP/1.1\r\n\r\nGET /no"),
		get("/ok/1", "x-a", "b\r\n\r\nGET /no HTTP/1.1"), get("/ok/1", "host", "evil.test"), get("/ok/../no"), {":method", "CONNECT", ":authority", "api.test:443"},
		post("/ok/1", "trailer", "x-a", "te", "trailers", "expect", "100-continue"), get("/ok/1", "connection", "x", "upgrade", "h2c"),
	} {
		f.Add(join(s...), []byte("abc"), len(s) == 8)
	}
	f.Fuzz(func(t *testing.T, head, body []byte, bodyless bool) {
		up := newWitness(t, witnessTLS())
		r := newRig(t, options{rules: forwardRules})
		h := r.dialHTTP2(r.at("api.test:443", up.addr()), "api.test")
		var fields []string
		for f := range bytes.SplitSeq(head, []byte{0xff}) {
			if name, value, ok := bytes.Cut(f, []byte{0xfe}); ok {
				fields = append(fields, string(name), string(value))
			}
		}
		block := h.block(fields...)
		if len(block) > 16<<10 || len(body) > 16<<10 {
			return
		}
		h.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, EndStream: bodyless, BlockFragment: block})
		if !bodyless {
			h.fr.WriteData(1, true, body)
		}
		h.await(1)
		up.judge(r)
	})
}

// witness is an upstream that keeps what it receives, and answers whatever is a
// request to net/http.
type witness struct {
	t  *testing.T
	l  net.Listener
	wg sync.WaitGroup

	mu       sync.Mutex
	streams  []*bytes.Buffer // of each connection
	received []string        // as net/http reads them
}

func newWitness(t *testing.T, over *tls.Config) *witness {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{t: t, l: l}
	if over != nil {
		w.l = tls.NewListener(l, over)
	}
	t.Cleanup(func() { w.l.Close() })
	w.wg.Go(w.accept)
	return w
}

func (w *witness) addr() string { return w.l.Addr().String() }

var witnessTLS = sync.OnceValue(func() *tls.Config {
	a, err := egress.ParseAuthority("api.test:443", 0)
	if err != nil {
		panic(err)
	}
	cert, err := testAuthority().mint(a, time.Now())
	if err != nil {
		panic(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{*cert}}
})

func (w *witness) accept() {
	for {
		c, err := w.l.Accept()
		if err != nil {
			return
		}
		bytes := &bytes.Buffer{}
		w.mu.Lock()
		w.streams = append(w.streams, bytes)
		w.mu.Unlock()
		w.wg.Go(func() { w.serve(c, bytes) })
	}
}

func (w *witness) serve(c net.Conn, keep *bytes.Buffer) {
	defer c.Close()
	br := bufio.NewReader(io.TeeReader(c, keep))
	for {
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		w.mu.Lock()
		w.received = append(w.received, req.Method+" "+req.RequestURI+" "+req.Host)
		w.mu.Unlock()
		if req.Header.Get("Expect") != "" {
			io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n")
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"); err != nil {
			return
		}
	}
}

// judge ends everything and compares.
func (w *witness) judge(r *rig) {
	t := w.t
	r.proxy.Close()
	w.l.Close()
	w.wg.Wait()
	var allowed []string
	for _, e := range r.audit.all() {
		if e.Decision == audit.Allow && e.Kind == audit.KindRequest {
			allowed = append(allowed, e.Method+" "+e.Path)
		}
	}
	left := allowed
	for _, line := range w.received {
		method, rest, _ := strings.Cut(line, " ")
		target, host, _ := strings.Cut(rest, " ")
		p, _, _ := strings.Cut(target, "?")
		i := slices.Index(left, method+" "+p)
		if i < 0 || host != "api.test" {
			t.Errorf("received %q, allowed %q", line, allowed)
			continue
		}
		left = left[i+1:]
		w.judgePath(p)
	}
	for _, b := range w.streams {
		for _, read := range []func([]byte) (int, error){readLoosely(lengthFirst), readLoosely(codingFirst)} {
			n, err := read(b.Bytes())
			if err != nil || n > len(w.received) {
				t.Errorf("%q reads as %d requests: %v; allowed %q", b.Bytes(), n, err, allowed)
			}
		}
	}
}

// judgePath reads a path as servers do that decode twice, that cut parameters off,
// or that take a backslash for a slash: it stays where the rules allow it.
func (w *witness) judgePath(p string) {
	for range 2 {
		p = decoded(p)
		var segments []string
		for s := range strings.SplitSeq(strings.ReplaceAll(p, `\`, "/"), "/") {
			s, _, _ = strings.Cut(s, ";")
			segments = append(segments, s)
		}
		for _, clean := range []string{path.Clean(p), path.Clean(strings.Join(segments, "/"))} {
			if clean != "/ok" && !strings.HasPrefix(clean, "/ok/") || clean == "/ok/no" || strings.HasPrefix(clean, "/ok/no/") {
				w.t.Errorf("the upstream may read %q as %q", p, clean)
			}
		}
	}
}

func decoded(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(v))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

type framingRule int

const (
	lengthFirst framingRule = iota
	codingFirst
)

// readLoosely counts requests as a careless server does: lines end in LF, names may
// have blanks around them and "_" for "-", and of two framings one is taken without a
// word.
func readLoosely(rule framingRule) func([]byte) (int, error) {
	return func(b []byte) (n int, err error) {
		for len(b) > 0 {
			head, rest, ok := cutHead(b)
			if !ok {
				return n, nil // cut off
			}
			n++
			length, chunked := 0, false
			for _, line := range head[1:] {
				name, value, _ := strings.Cut(line, ":")
				switch strings.ToLower(strings.ReplaceAll(strings.TrimSpace(name), "_", "-")) {
				case "content-length":
					if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
						return n, err
					}
				case "transfer-encoding":
					chunked = strings.Contains(value, "chunked")
				}
			}
			if chunked && (rule == codingFirst || length == 0) {
				if rest, ok = cutChunks(rest); !ok {
					return n, nil
				}
			} else {
				rest = rest[min(length, len(rest)):]
			}
			b = rest
		}
		return n, nil
	}
}

func cutHead(b []byte) (lines []string, rest []byte, ok bool) {
	for {
		line, after, ok := bytes.Cut(b, []byte("\n"))
		if !ok {
			return nil, nil, false
		}
		b = after
		text := strings.TrimSuffix(string(line), "\r")
		if text == "" && len(lines) > 0 {
			return lines, b, true
		}
		lines = append(lines, text)
	}
}

func cutChunks(b []byte) (rest []byte, ok bool) {
	for {
		line, after, ok := bytes.Cut(b, []byte("\n"))
		if !ok {
			return nil, false
		}
		size, _, _ := strings.Cut(strings.TrimSpace(string(line)), ";")
		n, err := strconv.ParseUint(size, 16, 31)
		if err != nil {
			return nil, false
		}
		b = after
		if n == 0 {
			break
		}
		if len(b) < int(n)+2 {
			return nil, false
		}
		b = b[n+2:]
	}
	for { // trailers
		line, after, ok := bytes.Cut(b, []byte("\n"))
		if !ok {
			return nil, false
		}
		b = after
		if len(bytes.TrimSpace(line)) == 0 {
			return b, true
		}
	}
}
