package mitm

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// script is an upstream of which the test says what it does with each request.
type script struct {
	addr string
	mu   sync.Mutex
	seen []string // "connection METHOD path"
}

// newScript serves connections; answer gets the number of the connection, from 1, and
// reports whether it goes on.
func newScript(t *testing.T, answer func(s *script, conn int, c net.Conn, req *http.Request) bool) *script {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := &script{addr: l.Addr().String()}
	go func() {
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				br := bufio.NewReader(c)
				for {
					req, err := http.ReadRequest(br)
					if err != nil {
						return
					}
					s.mu.Lock()
					s.seen = append(s.seen, fmt.Sprint(n, " ", req.Method, " ", req.URL.Path))
					s.mu.Unlock()
					if !answer(s, n, c, req) {
						return
					}
				}
			}()
		}
	}()
	return s
}

// asks makes requests one after the other on one connection from the jail and returns
// "status body" of each.
func (s *script) asks(t *testing.T, requests ...string) (got []string) {
	t.Helper()
	r := newRig(t, options{rules: []string{"* http://api.test"}})
	c, err := net.Dial("tcp", r.at("api.test:80", s.addr))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second)) // only bounds a hang
	br := bufio.NewReader(c)
	for _, req := range requests {
		io.WriteString(c, req+" HTTP/1.1\r\nHost: api.test\r\n\r\n")
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusOK {
			body = nil
		}
		got = append(got, strings.TrimSpace(fmt.Sprint(resp.StatusCode, " ", string(body))))
	}
	return got
}

func (s *script) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

func ok(w io.Writer, body string) {
	fmt.Fprintf(w, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func TestALineCarriesOneRequestAfterTheOther(t *testing.T) {
	s := newScript(t, func(_ *script, _ int, c net.Conn, req *http.Request) bool {
		switch req.URL.Path {
		case "/chunks":
			io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n")
		case "/nothing":
			io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
		case "/last":
			io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na")
		default:
			ok(c, "a")
		}
		return true
	})
	got := s.asks(t, "GET /1", "GET /chunks", "DELETE /nothing", "GET /last", "GET /2", "POST /3")
	if want := []string{"200 a", "200 a", "204", "200 a", "200 a", "200 a"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	want := []string{"1 GET /1", "1 GET /chunks", "1 DELETE /nothing", "1 GET /last", "2 GET /2", "2 POST /3"}
	if seen := s.requests(); !slices.Equal(seen, want) {
		t.Errorf("the upstream saw %q", seen)
	}
}

// TestAReplyThatNobodyAskedFor: what an upstream sends behind a reply is no reply to
// the next request, whether it comes with the first or later.
func TestAReplyThatNobodyAskedFor(t *testing.T) {
	with := newScript(t, func(_ *script, n int, c net.Conn, _ *http.Request) bool {
		if n > 1 {
			ok(c, "own")
			return true
		}
		var b strings.Builder
		ok(&b, "first")
		ok(&b, "evil")
		io.WriteString(c, b.String())
		return true
	})
	if got := with.asks(t, "GET /1", "GET /2"); !slices.Equal(got, []string{"200 first", "200 own"}) {
		t.Errorf("with the first: %q", got)
	}
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	if newLine(near, nil, near).quiet() {
		t.Error("what cannot be looked at is used again")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, later := range map[string]func(net.Conn){"more": func(c net.Conn) { ok(c, "evil") }, "the end": func(c net.Conn) { c.Close() }} {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		up, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer up.Close()
		line := newLine(c, nil, c)
		if !line.quiet() {
			t.Fatal("a new line is not quiet")
		}
		later(up)
		for until := time.Now().Add(20 * time.Second); line.quiet(); {
			if time.Now().After(until) {
				t.Fatalf("%s is not seen", name)
			}
		}
	}
}

// TestARequestIsNotSentTwice, but where sending it again changes nothing.
func TestARequestIsNotSentTwice(t *testing.T) {
	for method, want := range map[string][]string{
		"POST": {"1 GET /1", "1 POST /2"},
		"GET":  {"1 GET /1", "1 GET /2", "2 GET /2"},
	} {
		s := newScript(t, func(_ *script, n int, c net.Conn, req *http.Request) bool {
			if n == 1 && req.URL.Path == "/2" {
				return false
			}
			ok(c, "a")
			return true
		})
		got := s.asks(t, "GET /1", method+" /2")
		if again := map[string]string{"POST": "502", "GET": "200 a"}[method]; got[1] != again || !slices.Equal(s.requests(), want) {
			t.Errorf("%s: %q, the upstream saw %q", method, got, s.requests())
		}
	}
}

func TestWhatIsGatheredLeavesInOneWrite(t *testing.T) {
	w := &writes{}
	c := &cork{Conn: w}
	c.Write([]byte("a"))
	err := c.gather(nil, func() error {
		c.Write([]byte("b"))
		c.Write([]byte("c"))
		return nil
	})
	stop := errors.New("stop")
	if broken := c.gather(nil, func() error { c.Write([]byte("lost")); return stop }); err != nil || !errors.Is(broken, stop) {
		t.Error(err, broken)
	}
	c.Write([]byte("d"))
	if !slices.Equal(w.all, []string{"a", "bc", "d"}) {
		t.Errorf("writes %q", w.all)
	}
}

type writes struct {
	net.Conn
	all []string
}

func (w *writes) Write(b []byte) (int, error) {
	w.all = append(w.all, string(b))
	return len(b), nil
}
