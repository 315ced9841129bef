package mitm

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/omnijail/omnijail/internal/audit"
)

// TestHTTP2HoldsLittle lets a client open the door and never read, and counts what
// the upstream could push into the house: windows and socket buffers, whatever
// the size of the reply.
func TestHTTP2HoldsLittle(t *testing.T) {
	const most = 24 << 20 // socket buffers grow to 6 MB each, and there are two connections
	for name, serve := range map[string]func(*rig, string, http.Handler) string{"h2": (*rig).serveHTTP2, "http/1.1": (*rig).serve} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, options{rules: []string{"GET api.test"}})
			var pushed atomic.Int64
			over := make(chan struct{})
			addr := serve(r, "api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) {
				defer close(over)
				// Longer than it takes to fill all that may be filled: then it stands.
				http.NewResponseController(w).SetWriteDeadline(time.Now().Add(2 * time.Second))
				for chunk := make([]byte, 64<<10); pushed.Load() < 4*most; {
					n, err := w.Write(chunk)
					pushed.Add(int64(n))
					if err != nil {
						return
					}
				}
			}})
			h := r.dialHTTP2(addr, "api.test")
			h.request(1, true, get("/big")...) // with the window that every stream begins with, and no more
			<-over
			if n := pushed.Load(); n > most {
				t.Errorf("%d bytes wait for a client that does not read", n)
			}
		})
	}
}

// frames yields what comes until the connection ends.
func (h *h2) frames() func(func(http2.Frame) bool) {
	return func(yield func(http2.Frame) bool) {
		for {
			f, err := h.frame()
			if err != nil || !yield(f) {
				return
			}
		}
	}
}

// TestHTTP2UploadsWait counts the window that a client is given while the upstream
// reads nothing.
func TestHTTP2UploadsWait(t *testing.T) {
	r := newRig(t, options{rules: []string{"POST api.test"}})
	read := make(chan struct{})
	addr := r.serveHTTP2("api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) {
		<-read
		n, _ := io.Copy(io.Discard, req.Body)
		fmt.Fprint(w, n)
	}})
	h := r.dialHTTP2(addr, "api.test")
	h.request(1, false, post("/up")...)
	const total = 8 << 20
	stream, conn, sent := streamWindow, 64<<10-1, 0
	chunk := make([]byte, 16<<10)
	begin := sync.OnceFunc(func() { close(read) })
	for f := range h.frames() {
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				h.must(h.fr.WriteSettingsAck())
			}
		case *http2.WindowUpdateFrame:
			if f.StreamID == 0 {
				conn += int(f.Increment)
			} else {
				stream += int(f.Increment)
			}
			if stream > streamWindow || conn > connWindow {
				t.Fatalf("the client may send %d bytes on the stream, %d on the connection", stream, conn)
			}
		case *http2.DataFrame:
			if string(f.Data()) != fmt.Sprint(total) {
				t.Errorf("the upstream read %q bytes", f.Data())
			}
			return
		}
		for sent < total && stream >= len(chunk) && conn >= len(chunk) {
			sent, stream, conn = sent+len(chunk), stream-len(chunk), conn-len(chunk)
			h.must(h.fr.WriteData(1, sent == total, chunk))
		}
		if stream < len(chunk) {
			begin() // the client has sent all that it may
		}
	}
	t.Error("the connection ended")
}

// TestHTTP2ManyStreams holds both limits: of a connection, which the client is
// told, and of a jail.
func TestHTTP2ManyStreams(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test"}})
	addr := r.serveHTTP2("api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) { <-req.Context().Done() }})
	for range maxJailStreams / maxStreams {
		h := r.dialHTTP2(addr, "api.test")
		for id := uint32(1); id < 2*maxStreams; id += 2 {
			h.request(id, true, get("/wait")...)
		}
		h.request(2*maxStreams+1, true, get("/one-too-many")...)
		if o := h.await(2*maxStreams + 1); o.reset == 0 {
			t.Errorf("one stream too many got %+v", o)
		}
	}
	h := r.dialHTTP2(addr, "api.test")
	for id := uint32(1); id < 2*maxStreams; id += 2 {
		h.request(id, true, get("/wait")...)
	}
	for f := range h.frames() {
		if m, ok := f.(*http2.MetaHeadersFrame); ok {
			if s := m.PseudoValue("status"); s != "429" {
				t.Errorf("a stream got %s", s)
			}
			break
		}
	}
	r.audit.await(t, opened, func(e Event) bool { return e.Code == audit.CodeFlood && e.Status == 429 })
}

// TestA74_DeniedBodyOverHTTP2IsNotDrained: no more of it is taken than the window that
// every stream begins with, and other streams of the connection go on.
func TestA74_DeniedBodyOverHTTP2IsNotDrained(t *testing.T) {
	r := newLab(t, labOptions{rules: []string{"* api.test/ok"}}).rig
	up := &seen{}
	c := r.http2Client(r.serveHTTP2("api.test:443", up))
	const offered = 250 << 20
	sent := &tally{}
	resp, err := c.Post("https://api.test/no", "text/plain", io.TeeReader(pattern(offered), sent))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 403 || resp.ProtoMajor != 2 {
		t.Errorf("%d over HTTP/%d", resp.StatusCode, resp.ProtoMajor)
	}
	if resp, err := c.Get("https://api.test/ok"); err != nil || resp.StatusCode != 200 {
		t.Errorf("the next stream: %v %v", resp, err)
	}
	if n := sent.Load(); n > 2*connWindow || len(up.all()) != 1 {
		t.Errorf("%d bytes of a refused body were taken, the upstream saw %d requests", n, len(up.all()))
	}
}

// tally counts what is written to it.
type tally struct{ atomic.Int64 }

func (n *tally) Write(b []byte) (int, error) {
	n.Add(int64(len(b)))
	return len(b), nil
}

// TestHTTP2ContinueIsJudgedFirst sends no body until it is asked for.
func TestHTTP2ContinueIsJudgedFirst(t *testing.T) {
	r := newRig(t, options{rules: []string{"POST api.test/ok"}})
	h := r.dialHTTP2(r.serveHTTP2("api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) { io.Copy(w, req.Body) }}), "api.test")
	h.request(1, false, post("/no", "expect", "100-continue")...)
	for f := range h.frames() {
		if m, ok := f.(*http2.MetaHeadersFrame); ok && m.StreamID == 1 {
			if s := m.PseudoValue("status"); s != "403" {
				t.Fatalf("the first head says %s", s)
			}
			break
		}
	}
	h.request(3, false, post("/ok", "expect", "100-continue")...)
	for f := range h.frames() {
		if m, ok := f.(*http2.MetaHeadersFrame); ok && m.StreamID == 3 {
			if s := m.PseudoValue("status"); s != "100" {
				t.Fatalf("the first head says %s", s)
			}
			break
		}
	}
	h.must(h.fr.WriteData(3, true, []byte("body")))
	if o := h.await(3); o.status != "200" || o.body != "body" {
		t.Errorf("%+v", o)
	}
}

// TestHTTP2ClientGone holds that a stream given up ends its request upstream.
func TestHTTP2ClientGone(t *testing.T) {
	for name, serve := range map[string]func(*rig, string, http.Handler) string{"h2": (*rig).serveHTTP2, "http/1.1": (*rig).serve} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, options{rules: []string{"GET api.test"}})
			begun, gone := make(chan struct{}), make(chan struct{})
			c := r.http2Client(serve(r, "api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) {
				close(begun)
				<-req.Context().Done()
				close(gone)
			}}))
			ctx, cancel := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(ctx, "GET", "https://api.test/poll", nil)
			if err != nil {
				t.Fatal(err)
			}
			go func() { <-begun; cancel() }()
			if _, err := c.Do(req); err == nil {
				t.Error("a request that was given up has a reply")
			}
			<-gone
		})
	}
}

// TestHTTP2LongStreamEnds holds that Freeze also ends what is under way.
func TestHTTP2LongStreamEnds(t *testing.T) {
	r := newRig(t, options{rules: []string{"GET api.test"}})
	c := r.http2Client(r.serveHTTP2("api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) {
		io.WriteString(w, "event\n")
		w.(http.Flusher).Flush()
		<-req.Context().Done()
		panic(http.ErrAbortHandler) // an end now could still get through
	}}))
	resp, err := c.Get("https://api.test/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, 6)
	if _, err := io.ReadFull(resp.Body, first); err != nil || !strings.HasPrefix(string(first), "event") {
		t.Fatal(string(first), err)
	}
	r.proxy.Freeze()
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("the stream ended as if it were complete")
	}
}

// TestHTTP2WindowsOpenedLate takes a large reply in one window and says so in
// small steps afterwards, as Go's client does. That is no flood.
func TestHTTP2WindowsOpenedLate(t *testing.T) {
	const size, step = 8 << 20, 4 << 10
	r := newRig(t, options{rules: []string{"GET api.test"}})
	addr := r.serveHTTP2("api.test:443", &seen{then: func(w http.ResponseWriter, req *http.Request) { io.Copy(w, pattern(size)) }})
	h := r.dialHTTP2(addr, "api.test")
	h.must(h.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 2 * size}))
	h.must(h.fr.WriteWindowUpdate(0, 2*size))
	h.request(1, true, get("/big")...)
	if o := h.await(1); len(o.body) != size {
		t.Fatalf("%d bytes came, %+v", len(o.body), o.goaway)
	}
	for range size / step {
		h.must(h.fr.WriteWindowUpdate(0, step/2))
		h.must(h.fr.WriteWindowUpdate(0, step/2))
	}
	h.request(3, true, get("/small")...)
	if o := h.await(3); o.status != "200" || o.closed {
		t.Errorf("after the updates: %s, GOAWAY %v", o.status, o.goaway)
	}
}
