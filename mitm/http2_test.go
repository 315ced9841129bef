package mitm

import (
	"bufio"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

// TestHTTP2BothLegs carries requests between a client of HTTP/2 and an upstream
// that offers it, and one that does not.
func TestHTTP2BothLegs(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test/user", "GET old.test/user"}, bindings: []creds.Binding{bearer("api.test")}})
	r.resolve(0)
	answer := func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Set-Cookie", "session=1")
		w.Header().Set("Alt-Svc", `h3=":443"`)
		io.WriteString(w, req.Proto)
	}
	modern, old := &seen{then: answer}, &seen{then: answer}
	for authority, addr := range map[string]string{
		"api.test": r.serveHTTP2("api.test:443", modern), "old.test": r.serve("old.test:443", old),
	} {
		c := r.http2Client(addr)
		for range 3 {
			resp, err := c.Get("https://" + authority + "/user?q=1")
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			want := "HTTP/2.0"
			if authority == "old.test" {
				want = "HTTP/1.1"
			}
			if resp.StatusCode != 200 || string(body) != want || resp.ProtoMajor != 2 {
				t.Errorf("%s: reply %s %d %q", authority, resp.Proto, resp.StatusCode, body)
			}
			if resp.Header.Get("Alt-Svc") != "" || authority == "api.test" && resp.Header.Get("Set-Cookie") != "" {
				t.Errorf("%s: headers %v", authority, resp.Header)
			}
		}
	}
	for _, req := range modern.all() {
		if got := req.Header.Get("Authorization"); got != "Bearer "+secretValue {
			t.Errorf("Authorization is %q", got)
		}
		if req.Host != "api.test" || req.RequestURI != "/user?q=1" || req.Header.Get("User-Agent") == "" {
			t.Errorf("upstream saw %q %q %v", req.Host, req.RequestURI, req.Header)
		}
	}
	for _, req := range old.all() {
		if req.Header.Get("Authorization") != "" || req.Host != "old.test" {
			t.Errorf("upstream saw %q %v", req.Host, req.Header)
		}
	}
	e := r.audit.await(t, ended, func(e Event) bool { return e.Status == 200 && e.Binding == 0 })
	if e.BytesIn != 8 || e.Path != "/user" || e.Kind != audit.KindDone {
		t.Errorf("recorded %+v", e)
	}
}

// TestHTTP2StreamsBothWays writes each line only when the one before it has come
// back, as a bidirectional stream of gRPC does, and reads the trailers.
func TestHTTP2StreamsBothWays(t *testing.T) {
	r := newRig(t, options{rules: []string{"POST api.test/lab.Echo/Talk"}})
	c := r.http2Client(r.serveHTTP2("api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.(http.Flusher).Flush()
		for lines := bufio.NewScanner(req.Body); lines.Scan(); {
			fmt.Fprintf(w, "%s!\n", lines.Text())
			w.(http.Flusher).Flush()
		}
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
		w.Header().Set(http.TrailerPrefix+"X-Sum", req.Trailer.Get("X-Mine"))
	}}))
	in, out := io.Pipe()
	req, err := http.NewRequest("POST", "https://api.test/lab.Echo/Talk", in)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Te", "trailers")
	req.Trailer = http.Header{"X-Mine": nil}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	back := bufio.NewReader(resp.Body)
	for i := range 20 {
		fmt.Fprintf(out, "line %d\n", i)
		if line, err := back.ReadString('\n'); err != nil || line != fmt.Sprintf("line %d!\n", i) {
			t.Fatalf("line %d came back as %q: %v", i, line, err)
		}
	}
	req.Trailer.Set("X-Mine", "42")
	out.Close()
	if rest, err := io.ReadAll(back); err != nil || len(rest) > 0 {
		t.Errorf("after the last line: %q %v", rest, err)
	}
	if resp.Trailer.Get("Grpc-Status") != "0" || resp.Trailer.Get("X-Sum") != "42" {
		t.Errorf("trailers %v", resp.Trailer)
	}
}

// TestHTTP2TrailersOnly is how gRPC refuses a call: one head that ends the stream.
func TestHTTP2TrailersOnly(t *testing.T) {
	r := newRig(t, options{rules: []string{"POST api.test"}})
	addr := r.serveHTTP2("api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Grpc-Status", "12")
	}})
	h := r.dialHTTP2(addr, "api.test")
	h.request(1, true, post("/x.Y/Z", "te", "trailers")...)
	if o := h.await(1); o.status != "200" || o.body != "" {
		t.Errorf("reply %+v", o)
	}
}

// TestHTTP2BrokenReply holds that half a body never looks like a whole one.
func TestHTTP2BrokenReply(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test"}})
	c := r.http2Client(r.serveHTTP2("api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) {
		io.WriteString(w, strings.Repeat("a", 4096))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}}))
	resp, err := c.Get("https://api.test/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("a broken reply ended well")
	}
}

// TestHTTP2BigBodies carries more than all windows together, both ways at once.
func TestHTTP2BigBodies(t *testing.T) {
	const size = 24 << 20
	for name, serve := range map[string]func(*rig, string, http.Handler) string{"h2": (*rig).serveHTTP2, "http/1.1": (*rig).serve} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, options{rules: []string{"GET,POST api.test"}})
			c := r.http2Client(serve(r, "api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) {
				http.NewResponseController(w).EnableFullDuplex()
				if req.Method == http.MethodGet {
					io.Copy(w, pattern(4*size))
				}
				io.Copy(w, req.Body)
			}}))
			down, err := c.Get("https://api.test/")
			if err != nil {
				t.Fatal(err)
			}
			if got, want := digest(t, down.Body), digest(t, pattern(4*size)); got != want {
				t.Errorf("the reply came as %s, want %s", got, want)
			}
			down.Body.Close()
			resp, err := c.Post("https://api.test/", "application/octet-stream", pattern(size))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if got, want := digest(t, resp.Body), digest(t, pattern(size)); got != want {
				t.Errorf("the body came back as %s, want %s", got, want)
			}
		})
	}
}

func digest(t *testing.T, r io.Reader) string {
	t.Helper()
	h := sha256.New()
	n, err := io.Copy(h, r)
	if err != nil {
		t.Fatalf("after %d bytes: %v", n, err)
	}
	return fmt.Sprintf("%d bytes %x", n, h.Sum(nil))
}

// TestHTTP2Preferred offers both protocols where a rule prefers the second.
func TestHTTP2Preferred(t *testing.T) {
	rule := egress.Rule{Host: "api.test", Port: 443, PreferHTTP2: true}
	r := newRig(t, options{config: withRules([]egress.Rule{rule, {Host: "old.test", Port: 443}})})
	for name, want := range map[string]string{"api.test": "h2", "old.test": "http/1.1"} {
		c, err := tls.Dial("tcp", r.open(name+":443"), &tls.Config{RootCAs: r.jailRoots(), ServerName: name, NextProtos: []string{"h2", "http/1.1"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.ConnectionState().NegotiatedProtocol; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		c.Close()
	}
}
