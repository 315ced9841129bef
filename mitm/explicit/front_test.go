package explicit

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/elazarl/goproxy"
)

// pair is the two ends of a connection.
func pair(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if theirs, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if ours, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	theirs.SetDeadline(time.Now().Add(20 * time.Second)) // only bounds a hang
	return ours, theirs
}

func TestATunnelIsTheConnectionItself(t *testing.T) {
	ours, theirs := pair(t)
	f := New(func(s string) { t.Errorf("the library complains: %s", s) })
	go f.Connect(t.Context(), ours, "example.test:443", func(c net.Conn) {
		if c != ours {
			t.Errorf("a %T was handed on", c)
		}
		io.Copy(c, c)
	})
	br := bufio.NewReader(theirs)
	resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
	if err != nil || resp.StatusCode != 200 || len(resp.Header) > 0 {
		t.Fatalf("%v %v", resp, err)
	}
	io.WriteString(theirs, "hello")
	got := make([]byte, 5)
	if _, err := io.ReadFull(br, got); err != nil || string(got) != "hello" {
		t.Errorf("%q %v", got, err)
	}
}

// TestTheLibraryReachesNothing asks it for all that it could do besides: each ends
// without a connection.
func TestTheLibraryReachesNothing(t *testing.T) {
	reached := make(chan struct{}, 8)
	up := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached <- struct{}{} }))
	defer up.Close()
	t.Setenv("HTTP_PROXY", up.URL)
	t.Setenv("HTTPS_PROXY", up.URL)
	f := New(func(string) {})
	for _, req := range []*http.Request{
		httptest.NewRequest("GET", up.URL+"/", nil),
		httptest.NewRequest("GET", "/", nil),
		httptest.NewRequest("OPTIONS", "*", nil),
		httptest.NewRequest("CONNECT", up.Listener.Addr().String(), nil), // not by way of Connect
	} {
		ours, theirs := pair(t)
		w := httptest.NewRecorder()
		if req.Method == http.MethodConnect {
			f.proxy.ServeHTTP(&client{conn: ours}, req)
			if b, err := io.ReadAll(theirs); err != nil || len(b) > 0 {
				t.Errorf("CONNECT: %q %v", b, err)
			}
		}
		f.proxy.ServeHTTP(w, req)
		if w.Code == 200 {
			t.Errorf("%s %s: %d", req.Method, req.URL, w.Code)
		}
	}
	if _, err := f.proxy.ConnectDial("tcp", up.Listener.Addr().String()); err == nil {
		t.Error("ConnectDial dials")
	}
	if resp, err := f.proxy.Tr.RoundTrip(httptest.NewRequest("GET", up.URL+"/", nil)); err == nil {
		t.Errorf("the transport got %d", resp.StatusCode)
	}
	if len(reached) > 0 {
		t.Error("something was reached")
	}
	if f.proxy.AllowHTTP2 || f.proxy.Verbose {
		t.Error("more of the library is on than its front")
	}
}

func TestItsLogHoldsNoValues(t *testing.T) {
	var said []string
	f := New(func(s string) { said = append(said, s) })
	ctx := &goproxy.ProxyCtx{Proxy: f.proxy, Req: httptest.NewRequest("GET", "http://secret.test/", nil)}
	ctx.Warnf("Error dialing to %s: %v", "secret.test", "oa_cred_x")
	if len(said) != 1 || strings.Contains(said[0], "secret") || strings.Contains(said[0], "oa_cred") {
		t.Errorf("%q", said)
	}
}
