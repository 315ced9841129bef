package mitm

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/omnijail/omnijail/internal/audit"
)

// coders write what decoders read.
var coders = map[string]func(io.Writer) io.WriteCloser{
	"gzip":    func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	"x-gzip":  func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
	"br":      func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
	"zstd": func(w io.Writer) io.WriteCloser {
		e, err := zstd.NewWriter(w)
		if err != nil {
			panic(err)
		}
		return e
	},
	"DEFLATE": func(w io.Writer) io.WriteCloser { // without zlib's frame
		f, err := flate.NewWriter(w, 6)
		if err != nil {
			panic(err)
		}
		return f
	},
}

func coded(coding string, text []byte) []byte {
	for name := range strings.SplitSeq(coding, ", ") {
		var b bytes.Buffer
		w := coders[name](&b)
		w.Write(text)
		w.Close()
		text = b.Bytes()
	}
	return text
}

// unasked is a lab whose upstream sends text in a coding that nobody asked for, with
// a length or in chunks.
func unasked(t *testing.T, coding string, body []byte) *lab {
	return newLab(t, labOptions{answer: func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Encoding", coding)
		if req.URL.Path == "/chunks" {
			w.(http.Flusher).Flush()
		} else {
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		}
		w.Write(body)
	}})
}

func TestA61_CodedReplies(t *testing.T) {
	for _, coding := range []string{"gzip", "x-gzip", "deflate", "DEFLATE", "br", "zstd", "gzip, br"} {
		t.Run(coding, func(t *testing.T) {
			l := unasked(t, coding, coded(coding, []byte("you said "+secretValue+".")))
			for _, path := range []string{"/", "/chunks"} {
				resp, body := l.ask(send("GET", path, "Accept-Encoding: "+coding))
				if want := "you said " + strings.Repeat("*", len(secretValue)) + "."; body != want || resp.Header.Get("Content-Encoding") != "" {
					t.Errorf("%s: %v %q", path, resp.Header, body)
				}
			}
		})
	}
}

func TestA61_CodingsThatCannotBeUndone(t *testing.T) {
	for coding, body := range map[string][]byte{
		"compress":         []byte("x"),
		"aes128gcm":        []byte("x"),
		"gzip, gzip, gzip": coded("gzip, gzip, gzip", []byte(secretValue)),
		"gzip":             []byte("no gzip at all"),
		"deflate":          {1},
	} {
		t.Run(coding, func(t *testing.T) {
			l := unasked(t, coding, body)
			if resp, body := l.ask(send("GET", "/")); resp.StatusCode != 502 || resp.Header.Get("X-Omnijail-Code") != string(audit.CodeUpstreamProto) {
				t.Errorf("%d %q", resp.StatusCode, body)
			}
		})
	}
	for _, way := range []string{"gzip", "gzip, chunked", "chunked, gzip"} {
		l := newLab(t, labOptions{})
		reply := "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + way + "\r\n\r\n" + string(coded("gzip", []byte(secretValue)))
		l.upstream.Hosts["good.test:443"] = netip.MustParseAddrPort(l.rawTLS(reply))
		if resp, body := l.ask(send("GET", "/")); resp.StatusCode != 502 || resp.Header.Get("X-Omnijail-Code") != string(audit.CodeUpstreamProto) {
			t.Errorf("%s on the way: %d %q", way, resp.StatusCode, body)
		}
	}
	// A head alone has nothing to undo.
	l := unasked(t, "compress", nil)
	c := l.raw()
	defer c.Close()
	io.WriteString(c, send("HEAD", "/", "Connection: close"))
	if head, _ := io.ReadAll(c); !strings.HasPrefix(string(head), "HTTP/1.1 200") || strings.Contains(string(head), "Content-Encoding") {
		t.Errorf("%q", head)
	}
}

// TestA68_Bombs sends 4 MiB in a few KiB: with a length the reply is refused, in
// chunks it is broken off before it is large.
func TestA68_Bombs(t *testing.T) {
	zeros := make([]byte, 4<<20)
	for _, coding := range []string{"gzip", "br", "zstd", "gzip, gzip"} {
		t.Run(coding, func(t *testing.T) {
			l := unasked(t, coding, coded(coding, zeros))
			c := l.raw()
			io.WriteString(c, send("GET", "/chunks"))
			n, _ := io.Copy(io.Discard, c)
			c.Close()
			if n > 2<<20 {
				t.Errorf("%d bytes reached the jail", n)
			}
			if coding != "gzip" {
				return
			}
			if resp, body := l.ask(send("GET", "/")); resp.StatusCode != 502 || !strings.Contains(body, "decoded_too_large") {
				t.Errorf("%d %.200q", resp.StatusCode, body)
			}
		})
	}
}

// TestA68_TheMostOfOneReply: however well it was paid for.
func TestA68_TheMostOfOneReply(t *testing.T) {
	d := &decodedBody{r: &pieced{make([]byte, 2*maxDecoded), streamBuffer}, coded: &countedReader{n: 1 << 40}, bomb: errFrames}
	if n, err := io.Copy(io.Discard, d); n > maxDecoded || err != errFrames {
		t.Errorf("%d bytes, %v", n, err)
	}
}
