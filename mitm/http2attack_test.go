package mitm

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/omnijail/omnijail/internal/audit"
)

// either is a status that depends on which frame is read first: the request is
// sent without a body, or not at all.
const either = "either"

// refused is a reset or an answer of class 4xx: the implementation refuses it, or
// we do.
const refused = "refused"

// TestHTTP2Refusals sends heads that an upstream could read in two ways, or that
// ask for what no rule can allow. None reaches either kind of upstream.
func TestHTTP2Refusals(t *testing.T) {
	for _, upstream := range []struct {
		name  string
		serve func(*rig, string, http.Handler) string
	}{{"h2", (*rig).serveHTTP2}, {"http/1.1", (*rig).serve}} {
		for _, tt := range []struct {
			name   string
			fields []string
			data   string // DATA that ends the stream; "-" for none
			status string // "" when the stream is reset
			code   audit.Code
		}{
			{"no rule", get("/secret"), "-", "403", audit.CodeNoRule},
			{"another authority", []string{":method", "GET", ":scheme", "https", ":authority", "evil.test", ":path", "/a"}, "-", "421", audit.CodeAuthority},
			{"another port", []string{":method", "GET", ":scheme", "https", ":authority", "api.test:444", ":path", "/a"}, "-", "421", audit.CodeAuthority},
			{"no authority", []string{":method", "GET", ":scheme", "https", ":path", "/a"}, "-", "400", audit.CodeBadRequest},
			{"Host alone, another", []string{":method", "GET", ":scheme", "https", ":path", "/a", "host", "evil.test"}, "-", "421", audit.CodeAuthority},
			{"Host beside :authority", get("/a", "host", "evil.test"), "-", refused, ""},
			{"two Hosts", get("/a", "host", "api.test", "host", "api.test"), "-", refused, ""},
			{"userinfo", []string{":method", "GET", ":scheme", "https", ":authority", "u@api.test", ":path", "/a"}, "-", refused, ""},
			{"scheme http", []string{":method", "GET", ":scheme", "http", ":authority", "api.test", ":path", "/a"}, "-", "200", ""}, // and sent as https
			{"CONNECT", []string{":method", "CONNECT", ":authority", "api.test"}, "GET /smuggled HTTP/1.1\r\nHost: api.test\r\n\r\n", "405", audit.CodeMethod},
			{"CONNECT elsewhere", []string{":method", "CONNECT", ":authority", "evil.test:443"}, "x", "405", audit.CodeMethod},
			{"extended CONNECT", []string{":method", "CONNECT", ":protocol", "websocket", ":scheme", "https", ":authority", "api.test", ":path", "/a"}, "-", "", ""},
			{":protocol on GET", get("/a")[:0:0], "-", "", ""},
			{"TRACE", []string{":method", "TRACE", ":scheme", "https", ":authority", "api.test", ":path", "/a"}, "-", "405", audit.CodeMethod},
			{"lower case method", []string{":method", "get", ":scheme", "https", ":authority", "api.test", ":path", "/a"}, "-", "400", audit.CodeBadRequest},
			{"method with a line", []string{":method", "GET / HTTP/1.1\r\nHost: x", ":scheme", "https", ":authority", "api.test", ":path", "/a"}, "-", "", ""},
			{"path with a line", get("/a HTTP/1.1\r\nHost: api.test\r\n\r\nGET /smuggled"), "-", "", ""},
			{"path with a blank", get("/a b"), "-", "400", audit.CodeBadRequest},
			{"path with a fragment", get("/a#b"), "-", "400", audit.CodeBadRequest},
			{"path not a path", get("https://evil.test/a"), "-", refused, ""},
			{"path *", get("*"), "-", "400", audit.CodeBadRequest},
			{"path //", get("//evil.test/a"), "-", "400", audit.CodeBadRequest},
			{"dot segments", get("/a/%2e%2e/secret"), "-", "400", audit.CodeBadRequest},
			{"CR in a value", get("/a", "x-a", "b\rc"), "-", "", ""},
			{"LF in a value", get("/a", "x-a", "b\r\nGET /smuggled HTTP/1.1"), "-", "", ""},
			{"NUL in a value", get("/a", "x-a", "b\x00c"), "-", "", ""},
			{"upper case name", get("/a", "X-A", "b"), "-", "", ""},
			{"name with a colon", get("/a", "x-a: b", "c"), "-", "", ""},
			{"name with a line", get("/a", "x-a\r\nx-b", "c"), "-", "", ""},
			{"empty name", get("/a", "", "c"), "-", "", ""},
			{"unknown pseudo header", get("/a", ":x", "y"), "-", "", ""},
			{"two paths", get("/a", ":path", "/secret"), "-", "", ""},
			{"connection", get("/a", "connection", "authorization"), "-", "400", ""},
			{"keep-alive", get("/a", "keep-alive", "5"), "-", "400", ""},
			{"upgrade", get("/a", "upgrade", "h2c"), "-", "400", ""},
			{"transfer-encoding", post("/a", "transfer-encoding", "chunked"), "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: api.test\r\n\r\n", "400", ""},
			{"te", get("/a", "te", "gzip"), "-", "400", ""},
			{"length too small", post("/a", "content-length", "3"), "abcGET /smuggled HTTP/1.1\r\n\r\n", either, ""},
			{"length, no body", get("/a", "content-length", "5"), "-", "400", audit.CodeBadRequest},
			{"length 0, a body", post("/a", "content-length", "0"), "GET /smuggled HTTP/1.1\r\n\r\n", either, ""},
			{"length +3", post("/a", "content-length", "+3"), "abc", either, ""},
			{"two lengths", post("/a", "content-length", "3", "content-length", "30"), "abc", "400", audit.CodeBadRequest},
			{"two authorizations", get("/a", "authorization", "a", "authorization", "b"), "-", "400", audit.CodeBadRequest},
			{"101 fields", get("/a", strings.Split(strings.Repeat("x,y,", 101), ",")[:202]...), "-", "431", audit.CodeHeaders},
			{"64 KiB of fields", get("/a", "x-a", pad(40<<10), "x-b", pad(25<<10)), "-", "431", audit.CodeHeaders},
			{"method override in a placeholder's place", get("/a", "x-api-key", "oa_cred_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), "-", "403", audit.CodePlaceholder},
			{"placeholder in a dropped header", get("/a", "forwarded", "oa_cred_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), "-", "403", audit.CodePlaceholder},
		} {
			t.Run(upstream.name+"/"+tt.name, func(t *testing.T) {
				r := newRig(t, options{rules: []string{"GET api.test/a", "POST api.test/a", "GET evil.test"}})
				up, evil := &seen{}, &seen{}
				addr := upstream.serve(r, "api.test:443", up)
				upstream.serve(r, "evil.test:443", evil)
				h := r.dialHTTP2(addr, "api.test")
				fields := tt.fields
				if len(fields) == 0 {
					fields = get("/a")
					fields = append(fields[:8:8], ":protocol", "websocket")
				}
				h.request(1, tt.data == "-", fields...)
				if tt.data != "-" {
					h.must(h.fr.WriteData(1, true, []byte(tt.data)))
				}
				o := h.await(1)
				if tt.status == refused {
					if o.reset == 0 && !strings.HasPrefix(o.status, "4") {
						t.Errorf("got %+v", o)
					}
				} else if tt.status != either && (o.status != tt.status || o.code != string(tt.code)) {
					t.Errorf("got %+v, want %s %s", o, tt.status, tt.code)
				}
				// A well-behaved request behind it shows that nothing is left over.
				if !o.closed {
					h.request(3, true, get("/a")...)
					if o := h.await(3); o.status != "200" && !o.closed {
						t.Errorf("the next request got %+v", o)
					}
				}
				for _, req := range up.all() {
					if req.RequestURI != "/a" || req.Method != "GET" && tt.data == "-" {
						t.Errorf("the upstream saw %s %s", req.Method, req.RequestURI)
					}
				}
				if len(evil.all()) > 0 {
					t.Error("the wrong upstream saw a request")
				}
			})
		}
	}
}

// TestA75_HTTP2Floods sends what asks for work and carries nothing, until the
// connection is ended. The client reads all the while: no queue fills.
func TestA75_HTTP2Floods(t *testing.T) {
	for name, flood := range map[string]func(h *h2, i uint32) error{
		"rapid reset": func(h *h2, i uint32) error {
			if err := h.open(2*i+1, true, get("/a")...); err != nil {
				return err
			}
			return h.fr.WriteRSTStream(2*i+1, http2.ErrCodeCancel)
		},
		"streams that are refused": func(h *h2, i uint32) error {
			if err := h.open(2*i+1, false, get("/a")...); err != nil {
				return err
			}
			return h.fr.WriteWindowUpdate(2*i+1, 0)
		},
		"settings":            func(h *h2, _ uint32) error { return h.fr.WriteSettings() },
		"ping":                func(h *h2, _ uint32) error { return h.fr.WritePing(false, [8]byte{}) },
		"window updates":      func(h *h2, _ uint32) error { return h.fr.WriteWindowUpdate(0, 1) },
		"priority":            func(h *h2, i uint32) error { return h.fr.WritePriority(2*i+1, http2.PriorityParam{Weight: 1}) },
		"unknown frames":      func(h *h2, _ uint32) error { return h.fr.WriteRawFrame(0xee, 0, 0, nil) },
		"continuation":        continuation(make([]byte, 1<<10)),
		"empty continuations": continuation(nil),
		"empty data": func(h *h2, i uint32) error {
			if i == 0 {
				h.request(1, false, post("/a")...)
			}
			return h.fr.WriteData(1, false, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newLab(t, labOptions{rules: []string{"GET api.test/a", "POST api.test/a"}}).rig
			h := r.dialHTTP2(r.serveHTTP2("api.test:443", &seen{}), "api.test")
			ended := make(chan error, 1)
			go func() {
				_, err := io.Copy(io.Discard, h.conn)
				ended <- err
			}()
			for i := range uint32(20000) {
				if err := flood(h, i); err != nil {
					break
				}
			}
			if err := <-ended; isTimeout(err) {
				t.Error("the connection goes on")
			}
			if h.conn.NetConn().Close(); len(r.audit.all()) > 2000 {
				t.Errorf("the flood left %d records", len(r.audit.all()))
			}
		})
	}
}

// continuation sends a head that never ends, in pieces.
func continuation(piece []byte) func(h *h2, i uint32) error {
	return func(h *h2, i uint32) error {
		if i == 0 {
			return h.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: h.block(get("/a")...)})
		}
		return h.fr.WriteContinuation(1, false, piece)
	}
}
