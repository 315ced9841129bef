package mitm

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const tlsRecord = 16 << 10 // what one record of TLS carries

// coding is how a reply's end is marked.
type coding int

const (
	codedNone    coding = iota // there is no body
	codedLength                // Content-Length
	codedChunked               // chunks, and trailers after them
	codedClose                 // the end of the connection: HTTP/1.0
)

// codingOf picks the framing for a client. The upstream's own framing only
// decides whether the length is known.
func codingOf(req *http.Request, resp *http.Response) coding {
	switch {
	case req.Method == http.MethodHead,
		resp.StatusCode == http.StatusNoContent,
		resp.StatusCode == http.StatusNotModified:
		return codedNone
	case resp.ContentLength >= 0:
		return codedLength
	case req.ProtoAtLeast(1, 1):
		return codedChunked
	}
	return codedClose
}

// reply is an upstream's answer on its way to the jail.
type reply struct {
	s      *http1Conn
	resp   *http.Response
	coding coding
	n      uint64 // body bytes
}

// writeHead sends the status line and the headers. The reason phrase is ours:
// the upstream's is free text.
func (r *reply) writeHead(req *http.Request, closes bool) error {
	bw, h := r.s.bw, r.resp.Header
	text := http.StatusText(r.resp.StatusCode)
	if text == "" {
		text = "Status"
	}
	bw.WriteString("HTTP/1.1 ")
	bw.WriteString(strconv.Itoa(r.resp.StatusCode))
	bw.WriteString(" ")
	bw.WriteString(text)
	bw.WriteString("\r\n")
	switch r.coding {
	case codedLength:
		h["Content-Length"] = []string{strconv.FormatInt(r.resp.ContentLength, 10)}
	case codedChunked:
		delete(h, "Content-Length")
		h["Transfer-Encoding"] = []string{"chunked"}
		if names := trailerNames(r.resp.Trailer); len(names) > 0 {
			h["Trailer"] = []string{strings.Join(names, ", ")}
		}
	case codedClose:
		delete(h, "Content-Length")
	case codedNone:
		if r.resp.StatusCode == http.StatusNoContent {
			delete(h, "Content-Length")
		}
	}
	switch {
	case closes:
		h["Connection"] = []string{"close"}
	case !req.ProtoAtLeast(1, 1):
		h["Connection"] = []string{"keep-alive"}
	}
	if err := h.Write(bw); err != nil {
		return err
	}
	if _, err := bw.WriteString("\r\n"); err != nil {
		return err
	}
	if r.coding == codedNone || r.coding == codedLength && r.resp.ContentLength <= streamBuffer {
		// A short body follows at once; head and body leave in one record.
		return nil
	}
	return bw.Flush()
}

// writeBody streams the body. Each read is passed on before the next, so events
// and slow progress arrive as they are sent.
func (r *reply) writeBody() error {
	if r.coding == codedNone {
		return r.s.bw.Flush()
	}
	in := rooms.Get().(*room)
	defer func() { in.put() }()
	for {
		n, err := r.resp.Body.Read(in.data())
		if n > 0 {
			r.s.p.heed(n)
			if err := r.pass(in, n); err != nil {
				return err
			}
		}
		if n >= streamBuffer {
			in = in.widened()
		}
		switch {
		case errors.Is(err, io.EOF):
			return r.writeEnd()
		case err != nil:
			return fmt.Errorf("reply broken off: %w", err)
		}
	}
}

// pass sends the n bytes that were read.
func (r *reply) pass(in *room, n int) error {
	r.n += uint64(n)
	buf := in.piece
	out := buf[chunkRoom : chunkRoom+n]
	if r.coding == codedChunked {
		var head [chunkRoom]byte
		h := append(strconv.AppendUint(head[:0], uint64(n), 16), '\r', '\n')
		from := chunkRoom - len(h)
		copy(buf[from:], h)
		out = append(buf[from:chunkRoom+n], '\r', '\n')
	}
	if r.s.cork == nil || n <= tlsRecord {
		return r.send(out)
	}
	if in.sealed == nil {
		in.sealed = make([]byte, 0, len(buf)+len(buf)/64)
	}
	return r.s.cork.gather(in.sealed, func() error { return r.send(out) })
}

func (r *reply) send(b []byte) error {
	if _, err := r.s.bw.Write(b); err != nil {
		return err
	}
	return r.s.bw.Flush()
}

// writeEnd marks the end of a chunked reply, with its trailers.
func (r *reply) writeEnd() error {
	if r.coding != codedChunked {
		return r.s.bw.Flush()
	}
	bw := r.s.bw
	if _, err := bw.WriteString("0\r\n"); err != nil {
		return err
	}
	trailer := make(http.Header, len(r.resp.Trailer))
	for _, name := range trailerNames(r.resp.Trailer) {
		trailer[name] = r.resp.Trailer[name]
	}
	if err := trailer.Write(bw); err != nil {
		return err
	}
	if _, err := bw.WriteString("\r\n"); err != nil {
		return err
	}
	return bw.Flush()
}

// trailerNames lists the trailers that may pass.
func trailerNames(h http.Header) []string {
	if len(h) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(h)), func(name string) bool { return !trailerAllowed(name) })
}
