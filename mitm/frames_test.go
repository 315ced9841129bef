package mitm

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// serveHTTP2 is serve for an upstream that offers HTTP/2 as well.
func (r *rig) serveHTTP2(authority string, h http.Handler) string {
	r.t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = quiet
	return r.at(authority, r.start(authority, srv))
}

// http2Client is a jailed client that speaks HTTP/2 alone.
func (r *rig) http2Client(addr string) *http.Client {
	c := r.client(addr)
	var protocols http.Protocols
	protocols.SetHTTP2(true)
	transportOf(c).Protocols = &protocols
	return c
}

// h2 is a client that writes frames by hand.
type h2 struct {
	t    testing.TB
	conn *tls.Conn
	fr   *http2.Framer
	enc  *hpack.Encoder
	buf  bytes.Buffer

	heard *transcript // or nil
}

func (r *rig) dialHTTP2(addr, sni string) *h2 {
	r.t.Helper()
	c, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: r.jailRoots(), ServerName: sni, NextProtos: []string{"h2"}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second)) // only bounds a hang
	h := &h2{t: r.t, conn: c, fr: http2.NewFramer(c, c), heard: r.heard}
	h.enc = hpack.NewEncoder(&h.buf)
	h.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	h.fr.AllowIllegalWrites = true
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		r.t.Fatal(err)
	}
	h.must(h.fr.WriteSettings())
	return h
}

func (h *h2) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// block encodes a head: pairs of name and value.
func (h *h2) block(fields ...string) []byte {
	h.buf.Reset()
	for i := 0; i < len(fields); i += 2 {
		h.must(h.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}))
	}
	return bytes.Clone(h.buf.Bytes())
}

// open sends a head.
func (h *h2) open(id uint32, end bool, fields ...string) error {
	return h.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndHeaders: true, EndStream: end, BlockFragment: h.block(fields...)})
}

// request sends a head on a connection that must take it.
func (h *h2) request(id uint32, end bool, fields ...string) {
	h.t.Helper()
	h.must(h.open(id, end, fields...))
}

func get(path string, more ...string) []string {
	return append([]string{":method", "GET", ":scheme", "https", ":authority", "api.test", ":path", path}, more...)
}

func post(path string, more ...string) []string {
	return append([]string{":method", "POST", ":scheme", "https", ":authority", "api.test", ":path", path}, more...)
}

// frame is the next one.
func (h *h2) frame() (http2.Frame, error) {
	f, err := h.fr.ReadFrame()
	if h.heard == nil {
		return f, err
	}
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		fmt.Fprintln(h.heard, f.Fields)
	case *http2.DataFrame:
		h.heard.Write(f.Data())
	}
	return f, err
}

// outcome is how a stream or the connection ended.
type outcome struct {
	status string // of the reply, empty when there was none
	code   string // X-Omnijail-Code
	body   string
	reset  http2.ErrCode
	goaway http2.ErrCode
	closed bool // the connection
}

// await reads frames until stream id is over or the connection is.
func (h *h2) await(id uint32) outcome {
	h.t.Helper()
	var o outcome
	for {
		f, err := h.frame()
		if err != nil {
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				h.t.Fatalf("stream %d: nothing came after %+v", id, o)
			}
			o.closed = true
			return o
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				h.fr.WriteSettingsAck()
			}
		case *http2.GoAwayFrame:
			if o.goaway = f.ErrCode; o.goaway != http2.ErrCodeNo {
				o.closed = true // a second later it is
				return o
			}
		case *http2.RSTStreamFrame:
			if f.StreamID == id {
				o.reset = f.ErrCode
				return o
			}
		case *http2.MetaHeadersFrame:
			if f.StreamID != id {
				continue
			}
			if s := f.PseudoValue("status"); s != "" && s != "100" {
				o.status = s
			}
			for _, hf := range f.RegularFields() {
				if hf.Name == "x-omnijail-code" {
					o.code = hf.Value
				}
			}
			if f.StreamEnded() {
				return o
			}
		case *http2.DataFrame:
			if f.StreamID != id {
				continue
			}
			o.body += string(f.Data())
			if f.StreamEnded() {
				return o
			}
		}
	}
}
