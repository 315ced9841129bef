package mitm

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/egress"
)

// FuzzHead holds what the strict reading promises: a head that passes has one
// host and one framing, and what is forwarded of it reads the same again.
func FuzzHead(f *testing.F) {
	for _, s := range []string{
		"GET / HTTP/1.1\r\nHost: api.test\r\n\r\n",
		"GET /a?b HTTP/1.0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: api.test\r\nContent-Length: 3\r\n\r\nabc",
		"POST / HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET / HTTP/1.1\nHost: a\n\n",
		"GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	a, err := egress.ParseAuthority("api.test:443", 0)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		req, no, err := readRequest(bufio.NewReaderSize(bytes.NewReader(raw), maxHead))
		if no != nil || err != nil {
			if req != nil {
				t.Error("a request came with a refusal")
			}
			return
		}
		target, no := gate(req, egress.HTTPS, a)
		if no != nil {
			return
		}
		if !strings.HasPrefix(target.path, "/") || strings.ContainsAny(target.path+target.query, " \t\r\n#") {
			t.Errorf("target %q %q", target.path, target.query)
		}
		if len(req.Header["Content-Length"]) > 1 || (req.ContentLength >= 0 && len(req.TransferEncoding) > 0) {
			t.Errorf("two framings: %v", req.Header)
		}
		stripRequest(req.Header)
		x := &exchange{s: &session{authority: a, scheme: egress.HTTPS}, req: req, target: target}
		var wire bytes.Buffer
		out := x.outgoing(t.Context())
		if out.ContentLength > 0 {
			out.Body = io.NopCloser(strings.NewReader(strings.Repeat("x", int(min(out.ContentLength, 1<<20)))))
		}
		if err := out.Write(&wire); err != nil {
			return
		}
		again, no, err := readRequest(bufio.NewReaderSize(&wire, maxHead))
		if no != nil || err != nil {
			t.Fatalf("what we would send is refused: %v %v", no, err)
		}
		if again.Host != "api.test" || again.Method != req.Method || !strings.HasPrefix(again.RequestURI, target.path) {
			t.Errorf("sent %s %s %s", again.Method, again.Host, again.RequestURI)
		}
	})
}

// FuzzSniff holds that the first bytes decide the same way however they are cut.
func FuzzSniff(f *testing.F) {
	for _, s := range []string{"GET / HTTP/1.1", "\x16\x03\x01", "SSH-2.0-x", "SSH-1.99", "PING", "G", ""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		whole, _, err1 := sniff(bytes.NewReader(b))
		single, read, err2 := sniff(&oneByOne{b})
		if whole != single || (err1 == nil) != (err2 == nil) {
			t.Errorf("%q: %v %v whole, %v %v byte by byte", b, whole, err1, single, err2)
		}
		if !bytes.HasPrefix(b, read) || len(read) > 8 {
			t.Errorf("%q: took %q to decide", b, read)
		}
	})
}

type oneByOne struct{ b []byte }

func (r *oneByOne) Read(p []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, io.EOF
	}
	p[0] = r.b[0]
	r.b = r.b[1:]
	return 1, nil
}
