package mitm

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// The limits of a reply that comes coded although it was asked for as it is.
const (
	maxCodings  = 2         // on top of each other
	maxDecoded  = 64 << 20  // bytes of one reply
	maxRatio    = 100       // decoded bytes for each coded one
	freeDecoded = 64 << 10  // that may come of nothing
	lookAhead   = 512 << 10 // decoded before a reply of known length begins
	zstdWindow  = 8 << 20   // bytes of memory
)

// decoders are the content codings that can be undone.
var decoders = map[string]func(io.Reader) (io.Reader, error){
	"gzip":    func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	"x-gzip":  func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	"deflate": inflate,
	"br":      func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
	"zstd":    unzstd,
}

// inflate takes both things that servers call deflate: zlib's format, and the
// stream inside it alone.
func inflate(r io.Reader) (io.Reader, error) {
	br := bufio.NewReader(r)
	head, err := br.Peek(2)
	if len(head) == 1 {
		return nil, io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	if head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return zlib.NewReader(br)
	}
	return flate.NewReader(br), nil
}

func unzstd(r io.Reader) (io.Reader, error) {
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderMaxMemory(zstdWindow))
	if err != nil {
		return nil, err
	}
	return d, nil
}

// decode undoes the content codings of a reply that is to be searched. A coding
// that it cannot undo could hide anything, and is refused.
func (x *exchange) decode(resp *http.Response) error {
	codings := slices.DeleteFunc(tokens(resp.Header, "Content-Encoding"), func(c string) bool { return strings.EqualFold(c, "identity") })
	delete(resp.Header, "Content-Encoding")
	if len(codings) == 0 {
		return nil
	}
	delete(resp.Header, "Content-Length")
	if codingOf(x.req, resp) == codedNone || resp.ContentLength == 0 {
		return nil
	}
	if len(codings) > maxCodings {
		return x.unsearchable("too_many_codings")
	}
	sized := resp.ContentLength >= 0
	coded := &countedReader{r: resp.Body}
	var r io.Reader = coded
	for _, name := range slices.Backward(codings) {
		open := decoders[strings.ToLower(name)]
		if open == nil {
			return x.unsearchable("unknown_coding")
		}
		r = &lazyDecoder{from: r, open: open}
	}
	resp.ContentLength = -1
	d := &decodedBody{r: r, coded: coded, bomb: x.unsearchable("decoded_too_large"), broken: x.unsearchable("broken_coding")}
	resp.Body = readCloser{d, resp.Body}
	if sized {
		// A reply that is all there is looked into before its head is passed on.
		head, err := io.ReadAll(io.LimitReader(d, lookAhead))
		if err != nil {
			return err
		}
		resp.Body = readCloser{io.MultiReader(bytes.NewReader(head), d), resp.Body}
	}
	return nil
}

// The headers by which gRPC and Connect offer to code each message of a stream, and
// do, in canonical form.
var (
	messageOffers  = []string{"Grpc-Accept-Encoding", "Connect-Accept-Encoding"}
	messageCodings = []string{"Grpc-Encoding", "Connect-Content-Encoding"}
)

// codedMessages reports whether the messages in a reply's body are coded one by one,
// where no search sees what they say.
func codedMessages(h http.Header) bool {
	return slices.ContainsFunc(messageCodings, func(name string) bool {
		return slices.ContainsFunc(tokens(h, name), func(c string) bool { return !strings.EqualFold(c, "identity") })
	})
}

// readCloser reads here and closes there.
type readCloser struct {
	io.Reader
	io.Closer
}

// countedReader counts what is read of it.
type countedReader struct {
	r io.Reader
	n int64
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// lazyDecoder opens its decoder at the first read, so that no head waits for the
// first bytes of a body.
type lazyDecoder struct {
	from io.Reader
	open func(io.Reader) (io.Reader, error)
	r    io.Reader
}

func (l *lazyDecoder) Read(p []byte) (int, error) {
	if l.r == nil {
		r, err := l.open(l.from)
		if err != nil {
			return 0, err
		}
		l.r = r
	}
	return l.r.Read(p)
}

// decodedBody holds what is decoded to its limits. Its errors are refusals.
type decodedBody struct {
	r            io.Reader
	coded        *countedReader
	n            int64
	bomb, broken error
}

func (d *decodedBody) Read(p []byte) (int, error) {
	n, err := d.r.Read(p[:min(len(p), streamBuffer)])
	d.n += int64(n)
	switch {
	case d.n > maxDecoded, d.n > freeDecoded && d.n > maxRatio*d.coded.n:
		return 0, d.bomb
	case err != nil && !errors.Is(err, io.EOF):
		return 0, d.broken
	}
	return n, err
}
