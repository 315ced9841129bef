package mitm

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
)

// bearer is a binding of api.test with a value that the tests look for.
const secretValue = "s3cr3t-value-of-the-test-0123456789"

func bearer(target string) creds.Binding {
	a, path, err := creds.ParseTarget(target)
	if err != nil {
		panic(err)
	}
	return creds.Binding{
		Name: "test", Type: creds.Bearer, Foreign: creds.ForeignForward,
		Targets: []creds.Target{{Authority: a, Path: path, Scheme: creds.SchemeBearer}},
		Env:     []creds.EnvVar{{Name: "TOKEN"}},
		Sources: []creds.Source{{Kind: creds.SourceEnv, Env: "TOKEN"}},
	}
}

// resolve gives binding i its value.
func (r *rig) resolve(i int) {
	r.t.Helper()
	s, err := creds.NewSecret([]byte(secretValue))
	if err != nil {
		r.t.Fatal(err)
	}
	r.table.Resolve(i, 1, s, nil)
}

func TestRequestPassesWithCredential(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test/user"}, bindings: []creds.Binding{bearer("api.test")}})
	r.resolve(0)
	up := &seen{then: func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Set-Cookie", "session=1")
		w.Header().Set("Alt-Svc", `h3=":443"`)
		w.Header().Set("X-Up", "yes")
		io.WriteString(w, "hello")
	}}
	c := r.client(r.serve("api.test:443", up))
	for range 3 {
		resp, err := c.Get("https://api.test/user?q=1")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || string(body) != "hello" || resp.Header.Get("X-Up") != "yes" {
			t.Errorf("reply %d %q", resp.StatusCode, body)
		}
		for _, gone := range []string{"Set-Cookie", "Alt-Svc"} {
			if v := resp.Header.Get(gone); v != "" {
				t.Errorf("%s: %q reached the jail", gone, v)
			}
		}
	}
	for _, req := range up.all() {
		if got := req.Header.Get("Authorization"); got != "Bearer "+secretValue {
			t.Errorf("Authorization is %q", got)
		}
		if req.Host != "api.test" || req.RequestURI != "/user?q=1" {
			t.Errorf("upstream saw %q %q", req.Host, req.RequestURI)
		}
	}
	e := r.audit.await(t, ended, func(e Event) bool { return e.Status == 200 })
	if e.BytesIn != 5 || e.Path != "/user" || e.Binding != 0 || e.Rule != 0 || e.Kind != audit.KindDone {
		t.Errorf("recorded %+v", e)
	}
}

// TestS32_CookiesOfALogin holds that a cookie passes only where nothing was
// attached or the binding says so.
func TestS32_CookiesOfALogin(t *testing.T) {
	passing, dropping := bearer("api.test/pass/**"), bearer("api.test/drop/**")
	passing.Cookies, dropping.Name, dropping.Env = creds.CookiesPass, "dropping", nil
	r := newRig(t, options{rules: []string{"GET api.test"}, bindings: []creds.Binding{passing, dropping}})
	r.resolve(0)
	r.resolve(1)
	c := r.client(r.serve("api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Set-Cookie", "session=1")
	}}))
	for path, want := range map[string]string{"/pass/x": "session=1", "/other": "session=1", "/drop/x": ""} {
		resp, err := c.Get("https://api.test" + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("Set-Cookie"); got != want {
			t.Errorf("%s: Set-Cookie %q, want %q", path, got, want)
		}
	}
}

// TestBigBodies carries 50 MB each way, chunked, and compares digests.
func TestBigBodies(t *testing.T) {
	const size = 50 << 20
	r := newRig(t, options{rules: []string{"POST api.test"}})
	c := r.client(r.serve("api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) {
		h := sha256.New()
		n, err := io.Copy(h, req.Body)
		if err != nil || req.ContentLength != -1 {
			t.Errorf("upstream read %d bytes: %v (length %d)", n, err, req.ContentLength)
		}
		w.Header().Set("X-Digest", hex.EncodeToString(h.Sum(nil)))
		w.(http.Flusher).Flush()
		io.Copy(w, pattern(size))
	}}))
	sent := sha256.New()
	req, err := http.NewRequest("POST", "https://api.test/push", io.TeeReader(pattern(size), sent))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got := sha256.New()
	n, err := io.Copy(got, resp.Body)
	if err != nil || n != size {
		t.Fatalf("read %d: %v", n, err)
	}
	if !bytes.Equal(got.Sum(nil), sent.Sum(nil)) || resp.Header.Get("X-Digest") != hex.EncodeToString(sent.Sum(nil)) {
		t.Error("a body changed on its way")
	}
	e := r.audit.await(t, ended, func(e Event) bool { return e.Status == 200 })
	if e.BytesIn != size || e.BytesOut != size {
		t.Errorf("counted %d in, %d out", e.BytesIn, e.BytesOut)
	}
}

// pattern is n bytes that do not repeat soon.
func pattern(n int64) io.Reader { return io.LimitReader(&counter{}, n) }

type counter struct{ n uint32 }

func (c *counter) Read(b []byte) (int, error) {
	for i := range b {
		c.n = c.n*1664525 + 1013904223
		b[i] = byte(c.n >> 24)
	}
	return len(b), nil
}

// TestTrailersBothWays uses a hand-made request, because clients hide them.
func TestTrailersBothWays(t *testing.T) {
	r := newRig(t, options{rules: []string{"POST api.test"}})
	up := &seen{then: func(w http.ResponseWriter, req *http.Request) {
		io.Copy(io.Discard, req.Body)
		w.Header().Set("Trailer", "X-Sum, Set-Cookie")
		io.WriteString(w, "got "+req.Trailer.Get("X-Mine")+req.Trailer.Get("Authorization"))
		w.(http.Flusher).Flush()
		w.Header().Set("X-Sum", "42")
		w.Header().Set("Set-Cookie", "a=b")
	}}
	c := r.dialTLS(r.serve("api.test:443", up), "api.test")
	resp, body := r.say(c, "POST / HTTP/1.1\r\nHost: api.test\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\n"+
		"Trailer: X-Mine, Authorization\r\n\r\n3;ext=1\r\nabc\r\n0\r\nX-Mine: yes\r\nAuthorization: Basic x\r\n\r\n")
	if body != "got yes" {
		t.Errorf("upstream answered %q", body)
	}
	if resp.Trailer.Get("X-Sum") != "42" || resp.Trailer.Get("Set-Cookie") != "" {
		t.Errorf("trailers %v", resp.Trailer)
	}
	if te := up.all()[0].Header.Get("Te"); te != "trailers" {
		t.Errorf("TE reached the upstream as %q", te)
	}
}

// TestServerSentEvents reads each event before the upstream may send the next.
func TestServerSentEvents(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test"}})
	next := make(chan int)
	readEvents(t, r.client(r.serve("api.test:443", sending(next))), next)
}

// sending is an upstream that sends an event for each number that it is given.
func sending(next <-chan int) http.Handler {
	return &seen{then: func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		for i := range next {
			fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
		}
	}}
}

// readEvents reads each event of sending's before it gives it another number.
func readEvents(t *testing.T, c *http.Client, next chan<- int) {
	t.Helper()
	resp, err := c.Get("https://api.test/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for i := range 5 {
		next <- i
		want := fmt.Sprintf("data: %d\n\n", i)
		got := make([]byte, len(want))
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
			t.Fatalf("event %d: %q %v", i, got, err)
		}
	}
	close(next)
	if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
		t.Errorf("after the last event: %q %v", rest, err)
	}
}

// TestReplyFraming compares what a client of each version reads.
func TestReplyFraming(t *testing.T) {
	r := newRig(t, options{rules: []string{"* api.test"}})
	addr := r.serve("api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/204":
			w.WriteHeader(204)
		case "/304":
			w.Header().Set("Etag", `"x"`)
			w.WriteHeader(304)
		case "/unknown":
			w.(http.Flusher).Flush()
			io.WriteString(w, "body")
		default:
			w.Header().Set("Content-Length", "4")
			io.WriteString(w, "body")
		}
	}})
	for _, tt := range []struct {
		request string
		status  int
		body    string
		chunked bool
		keeps   bool
	}{
		{"GET /len HTTP/1.1\r\nHost: api.test\r\n\r\n", 200, "body", false, true},
		{"GET /unknown HTTP/1.1\r\nHost: api.test\r\n\r\n", 200, "body", true, true},
		{"HEAD /len HTTP/1.1\r\nHost: api.test\r\n\r\n", 200, "", false, true},
		{"HEAD /unknown HTTP/1.1\r\nHost: api.test\r\n\r\n", 200, "", false, true},
		{"GET /204 HTTP/1.1\r\nHost: api.test\r\n\r\n", 204, "", false, true},
		{"GET /304 HTTP/1.1\r\nHost: api.test\r\n\r\n", 304, "", false, true},
		{"GET /len HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n", 200, "body", false, false},
		{"GET /len HTTP/1.0\r\n\r\n", 200, "body", false, false},
		{"GET /len HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, "body", false, true},
		{"GET /unknown HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, "body", false, false},
	} {
		t.Run(strings.SplitN(tt.request, "\r\n", 2)[0], func(t *testing.T) {
			c := r.dialTLS(addr, "api.test")
			br := bufio.NewReader(c)
			method, _, _ := strings.Cut(tt.request, " ")
			for round := range 2 {
				if _, err := io.WriteString(c, tt.request); err != nil {
					t.Fatal(err)
				}
				resp, body := readReply(t, br, &http.Request{Method: method})
				if resp.StatusCode != tt.status || body != tt.body {
					t.Errorf("round %d: %d %q", round, resp.StatusCode, body)
				}
				if chunked := len(resp.TransferEncoding) > 0; chunked != tt.chunked {
					t.Errorf("chunked is %v", chunked)
				}
				if !tt.keeps {
					if _, err := br.ReadByte(); err != io.EOF {
						t.Errorf("after the reply: %v, want EOF", err)
					}
					return
				}
			}
		})
	}
}

// TestContinueIsJudgedFirst holds that a client which waits gets its answer
// before it sends a byte.
func TestContinueIsJudgedFirst(t *testing.T) {
	r := newRig(t, options{rules: []string{"POST api.test/open"}})
	addr := r.serve("api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		w.Write(body)
	}})
	const head = " HTTP/1.1\r\nHost: api.test\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
	t.Run("denied", func(t *testing.T) {
		resp, _ := r.say(r.dialTLS(addr, "api.test"), "POST /shut"+head)
		if resp.StatusCode != 403 {
			t.Errorf("status %d", resp.StatusCode)
		}
	})
	t.Run("allowed", func(t *testing.T) {
		c := r.dialTLS(addr, "api.test")
		br := bufio.NewReader(c)
		io.WriteString(c, "POST /open"+head)
		if resp, _ := readReply(t, br, nil); resp.StatusCode != 100 {
			t.Fatalf("status %d", resp.StatusCode)
		}
		io.WriteString(c, "body")
		if resp, body := readReply(t, br, nil); resp.StatusCode != 200 || body != "body" {
			t.Errorf("%d %q", resp.StatusCode, body)
		}
	})
}
