package mitm

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

// pipeTo runs the Proxy on one end of a pipe, inside a synctest bubble, where
// time passes only when everybody waits.
func pipeTo(t *testing.T, r *rig, authority string) (jail net.Conn, over chan struct{}) {
	t.Helper()
	jail, inner := net.Pipe()
	a := mustAuthority(t, authority)
	ip := netip.AddrFrom4([4]byte{198, 18, 9, 9})
	r.names.set(ip, a.Host())
	over = make(chan struct{})
	go func() {
		defer close(over)
		r.proxy.front(r.proxy.ctx, pipeConn{inner, netip.AddrPortFrom(ip, a.Port())})
		inner.Close()
	}()
	t.Cleanup(func() { jail.Close() })
	return jail, over
}

type pipeConn struct {
	net.Conn
	to netip.AddrPort
}

func (c pipeConn) LocalAddr() net.Addr { return net.TCPAddrFromAddrPort(c.to) }

// TestA72_SlowClients are cut off after their time and not before.
func TestA72_SlowClients(t *testing.T) {
	for _, tt := range []struct {
		name string
		act  func(t *testing.T, c net.Conn)
		want time.Duration
	}{
		{"says nothing", func(*testing.T, net.Conn) {}, firstByteTimeout},
		{"half a method", func(t *testing.T, c net.Conn) { io.WriteString(c, "GE") }, firstByteTimeout},
		{"TLS and then silence", func(t *testing.T, c net.Conn) { io.WriteString(c, "\x16\x03\x01\x00\x80") }, handshakeTimeout},
		{"half a head", func(t *testing.T, c net.Conn) { io.WriteString(c, "GET / HTTP/1.1\r\nHost: api.te") }, headerTimeout},
		{"a byte each second", func(t *testing.T, c net.Conn) {
			io.WriteString(c, "GET / HTTP/1.1\r\n")
			for {
				time.Sleep(time.Second)
				if _, err := io.WriteString(c, "X"); err != nil {
					return
				}
			}
		}, headerTimeout},
		{"idle after a reply", func(t *testing.T, c net.Conn) {
			io.WriteString(c, "GET /no HTTP/1.1\r\nHost: api.test\r\n\r\n")
			if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != 403 {
				t.Errorf("%v %v", resp, err)
			}
		}, idleTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, options{rules: []string{"GET http://api.test/ok"}})
				c, over := pipeTo(t, r, "api.test:80")
				began := time.Now()
				var acting sync.WaitGroup
				acting.Go(func() { tt.act(t, c) })
				<-over
				if got := time.Since(began); got < tt.want || got > tt.want+time.Second {
					t.Errorf("cut off after %v, want %v", got, tt.want)
				}
				c.Close()
				acting.Wait()
			})
		})
	}
}

// TestA72_StalledBody drips less than 1 KiB in 30 s into an upstream that waits.
func TestA72_StalledBody(t *testing.T) {
	for _, tt := range []struct {
		name  string
		drip  int // bytes each second
		stall bool
	}{
		{"nothing", 0, true},
		{"too slow", 10, true},
		{"fast enough", 100, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, inner := net.Pipe()
				defer client.Close()
				req := &http.Request{Method: "POST", Body: io.NopCloser(inner), ContentLength: -1}
				b := newBody(req, inner)
				var dripping sync.WaitGroup
				dripping.Go(func() {
					for range 120 {
						time.Sleep(time.Second)
						if _, err := client.Write(make([]byte, tt.drip)); err != nil {
							return
						}
					}
					client.Close()
				})
				_, err := io.Copy(io.Discard, b)
				inner.Close()
				dripping.Wait()
				if no, ok := err.(*refusal); ok != tt.stall {
					t.Errorf("%v", err)
				} else if ok && no.status != http.StatusRequestTimeout {
					t.Errorf("refused with %d", no.status)
				}
			})
		})
	}
}

// TestA72_StalledBodyOverHTTP2 holds that the deadline of a body is its stream's, and
// that the connection's other streams go on.
func TestA72_StalledBodyOverHTTP2(t *testing.T) {
	leavesNothing(t)
	ended := make(chan error, 1)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodGet {
			return
		}
		st := &http2Stream{w: w, control: http.NewResponseController(w)}
		b := st.body(req)
		b.deadline, b.owed = time.Now().Add(stallTime), stallBytes // set, but for a moment that is not waited for
		st.SetReadDeadline(time.Now())
		_, err := b.Read(make([]byte, 1))
		ended <- err
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	c := srv.Client()
	defer c.CloseIdleConnections()
	in, out := io.Pipe()
	defer out.Close()
	if resp, err := c.Post(srv.URL, "text/plain", in); err == nil {
		resp.Body.Close()
	}
	if no, ok := (<-ended).(*refusal); !ok || no.status != http.StatusRequestTimeout {
		t.Errorf("%v", no)
	}
	resp, err := c.Get(srv.URL)
	if err != nil || resp.ProtoMajor != 2 {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
}

// TestA74_DeniedBodyIsNotDrained offers 250 MB to a path that no rule allows.
func TestA74_DeniedBodyIsNotDrained(t *testing.T) {
	r := newLab(t, labOptions{rules: []string{"POST http://api.test/ok"}}).rig
	up := &seen{}
	c, err := net.Dial("tcp", r.serve("api.test:80", up))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const offered = 250 << 20
	sent := make(chan int64, 1)
	go func() {
		io.WriteString(c, "POST /no HTTP/1.1\r\nHost: api.test\r\nContent-Length: 262144000\r\n\r\n")
		n, _ := io.Copy(c, pattern(offered))
		sent <- n
	}()
	resp, _ := readReply(t, bufio.NewReader(c), nil)
	if resp.StatusCode != 403 || !resp.Close {
		t.Errorf("%d, close %v", resp.StatusCode, resp.Close)
	}
	if n := <-sent; n > offered/4 {
		t.Errorf("%d bytes of a refused body were taken", n)
	}
}

// TestBodyLimit holds max_body for a length that is told and one that is not.
func TestBodyLimit(t *testing.T) {
	rule := egress.Rule{Scheme: egress.HTTPS, Methods: []string{"POST"}, Host: "api.test", Port: 443, MaxBody: 1000}
	rules, err := egress.Compile([]egress.Rule{rule})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, options{config: func(c *Config) { c.Rules = rules }})
	c := r.client(r.serve("api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) { io.Copy(io.Discard, req.Body) }}))
	for _, tt := range []struct {
		size   int64
		told   bool
		status int
	}{{1000, true, 200}, {1000, false, 200}, {1001, true, 413}, {1001, false, 413}, {100000, false, 413}} {
		req, _ := http.NewRequest("POST", "https://api.test/", pattern(tt.size))
		if tt.told {
			req.ContentLength = tt.size
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tt.status {
			t.Errorf("%d bytes, told %v: %d", tt.size, tt.told, resp.StatusCode)
		}
	}
}

// TestClientGone holds that a request ends when its client leaves, though the
// upstream is silent.
func TestClientGone(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test"}})
	arrived, gone := make(chan struct{}), make(chan struct{})
	c := r.dialTLS(r.serve("api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) {
		close(arrived)
		<-req.Context().Done()
		close(gone)
		panic(http.ErrAbortHandler) // an answer now could still get through
	}}), "api.test")
	io.WriteString(c, "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n")
	<-arrived
	c.Close()
	select {
	case <-gone:
	case <-time.After(20 * time.Second):
		t.Fatal("the upstream was never told")
	}
	e := r.audit.await(t, ended, func(Event) bool { return true })
	if e.Status != 0 {
		t.Errorf("recorded %+v", e)
	}
}

// TestSlowUpstreamKeepsTheConnection holds that watching for a client which
// leaves does not eat the next request of one that stays.
func TestSlowUpstreamKeepsTheConnection(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test"}})
	c := r.dialTLS(r.serve("api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) {
		time.Sleep(2 * watchAfter) // the upstream's slowness, not a synchronisation
		io.WriteString(w, req.URL.Path)
	}}), "api.test")
	br := bufio.NewReader(c)
	io.WriteString(c, "GET /1 HTTP/1.1\r\nHost: api.test\r\n\r\nGET /2 HTTP/1.1\r\nHost: api.test\r\n\r\n")
	for _, want := range []string{"/1", "/2"} {
		if resp, body := readReply(t, br, nil); body != want {
			t.Errorf("%d %q, want %q", resp.StatusCode, body, want)
		}
	}
	io.WriteString(c, "GET /3 HTTP/1.1\r\nHost: api.test\r\n\r\n")
	if _, body := readReply(t, br, nil); body != "/3" {
		t.Errorf("after the watch: %q", body)
	}
}

// TestA77_PanicEndsOneConnection breaks the table of names under one connection, and
// the journal under one request of either protocol, and not under the next.
func TestA77_PanicEndsOneConnection(t *testing.T) {
	journal := &panickyJournal{}
	r := newLab(t, labOptions{rules: []string{"GET api.test"}, config: func(c *Config) {
		journal.recorder = c.Audit.(*recorder)
		c.Audit = journal
	}}).rig
	names := &panickyNames{fakeNames: r.names}
	r.proxy.names = names
	addr := r.serve("api.test:443", &seen{})
	names.panics.Store(true)
	c, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: r.jailRoots(), ServerName: "api.test"})
	if err == nil {
		c.Close()
		t.Fatal("the panic did not happen")
	}
	r.audit.await(t, opened, func(e Event) bool { return e.Code == audit.CodeBadRequest && strings.HasPrefix(e.Name, "198.18.") })
	names.panics.Store(false)
	if resp, _ := r.say(r.dialTLS(addr, "api.test"), "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n"); resp.StatusCode != 200 {
		t.Errorf("the next connection: %d", resp.StatusCode)
	}
	old, modern := r.dialTLS(addr, "api.test"), r.dialHTTP2(addr, "api.test")
	beside := r.dialTLS(addr, "api.test")
	journal.panics.Store(true)
	io.WriteString(old, "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n")
	if b, err := io.ReadAll(old); len(b) > 0 || isTimeout(err) {
		t.Errorf("HTTP/1.1: %q %v", b, err)
	}
	journal.panics.Store(true)
	modern.request(1, true, get("/")...)
	if o := modern.await(1); o.status != "" || o.reset == 0 {
		t.Errorf("HTTP/2: %+v", o)
	}
	modern.request(3, true, get("/")...)
	if o := modern.await(3); o.status != "200" {
		t.Errorf("the next stream: %+v", o)
	}
	if resp, _ := r.say(beside, "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n"); resp.StatusCode != 200 {
		t.Errorf("a connection beside: %d", resp.StatusCode)
	}
}

// panickyJournal panics once when it is told to.
type panickyJournal struct {
	*recorder
	panics atomic.Bool
}

func (j *panickyJournal) Open(ctx context.Context, e Event) (string, error) {
	if j.panics.Swap(false) {
		panic("a bug")
	}
	return j.recorder.Open(ctx, e)
}

type panickyNames struct {
	*fakeNames
	panics atomic.Bool
}

func (n *panickyNames) Name(a netip.Addr) (string, bool) {
	if n.panics.Load() {
		panic("a bug")
	}
	return n.fakeNames.Name(a)
}

// TestClose ends connections that are in use, and may be called again.
func TestClose(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test"}})
	arrived := make(chan struct{})
	c := r.dialTLS(r.serve("api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) {
		close(arrived)
		<-req.Context().Done()
		panic(http.ErrAbortHandler) // an answer now could still get through
	}}), "api.test")
	io.WriteString(c, "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n")
	<-arrived
	for range 2 {
		if err := r.proxy.Close(); err != nil {
			t.Error(err)
		}
	}
	if b, err := io.ReadAll(c); len(b) > 0 || isTimeout(err) {
		t.Errorf("read %q %v", b, err)
	}
}

// TestA73_HeaderFlood sends heads that do not end: by one field, by many, and by
// lines that are no fields yet. None is held beyond its limit.
func TestA73_HeaderFlood(t *testing.T) {
	r := newLab(t, labOptions{rules: []string{"GET api.test"}}).rig
	up := &seen{}
	addr := r.serve("api.test:443", up)
	for name, endless := range map[string]string{
		"one field": "a", "many fields": "X: 1\r\n", "folded": " a\r\n", "long fields": "X: " + pad(9000) + "\r\n",
	} {
		c := r.dialTLS(addr, "api.test")
		sent := make(chan int64, 1)
		go func() {
			n, _ := io.Copy(c, io.MultiReader(strings.NewReader("GET / HTTP/1.1\r\nHost: api.test\r\nX-Start: "), io.LimitReader(repeated(endless), 64<<20)))
			sent <- n
		}()
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err == nil && resp.StatusCode != 431 && resp.StatusCode != 400 {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
		if n := <-sent; n > 32<<20 {
			t.Errorf("%s: %d bytes of a head were taken", name, n)
		}
		c.Close()
	}
	if n := len(up.all()); n > 0 {
		t.Errorf("the upstream saw %d requests", n)
	}
}

// repeated is text again and again.
type repeated string

func (s repeated) Read(b []byte) (int, error) {
	n := 0
	for n+len(s) <= len(b) {
		n += copy(b[n:], s)
	}
	return n, nil
}

// TestA76_LeavesAreForAllowedNames holds that no certificate is made for a name that
// no rule allows, whatever the handshake asks for.
func TestA76_LeavesAreForAllowedNames(t *testing.T) {
	r := newLab(t, labOptions{rules: []string{"GET *.wild.test", "GET api.test"}}).rig
	addr := r.serve("api.test:443", &seen{})
	for i := range 50 {
		name := fmt.Sprintf("n%d.wild.test", i)
		if c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, ServerName: name}); err == nil {
			c.Close()
			t.Fatalf("a handshake for %s at another name's address succeeded", name)
		}
	}
	if n := len(r.proxy.leaves.byAuth); n > 1 {
		t.Errorf("%d leaves were made", n)
	}
}
