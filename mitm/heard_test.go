package mitm

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// transcript is text that many goroutines add to.
type transcript struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *transcript) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(b)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// listening is a transport that notes what it is answered: heads, bodies as they are
// read, and trailers.
type listening struct {
	*http.Transport
	heard *transcript
}

func (l *listening) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := l.Transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(l.heard, resp.Status, resp.Header)
	resp.Body = heardBody{resp.Body, resp, l.heard}
	return resp, nil
}

type heardBody struct {
	io.ReadCloser
	of    *http.Response
	heard *transcript
}

func (b heardBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.heard.Write(p[:n])
	if err == io.EOF {
		fmt.Fprintln(b.heard, b.of.Trailer)
	}
	return n, err
}
