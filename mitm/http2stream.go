package mitm

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// http2Stream is the client of one request that came over HTTP/2.
type http2Stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	heed    func(n int) // waits before what came of a reply is worked on
	broken  bool        // the reply cannot be completed

	mu   sync.Mutex
	over bool // w must not be used any more
}

// body reads from the stream. The implementation sends 100 Continue before the
// first read, which comes after the judgement.
func (st *http2Stream) body(req *http.Request) *body { return newBody(req, st) }

// SetReadDeadline bounds the next read of the request's body. The transport may
// still ask when the stream is over.
func (st *http2Stream) SetReadDeadline(t time.Time) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.over {
		return nil
	}
	return st.control.SetReadDeadline(t)
}

// watch needs to do nothing: a stream that ends ends its request's context.
func (st *http2Stream) watch(*body, func()) (stop func()) { return func() {} }

// settle needs to wait for nothing: what is left of a body goes with its stream.
func (st *http2Stream) settle(*body) bool { return true }

// end ends the stream, and resets it where its reply is incomplete.
func (st *http2Stream) end() {
	st.mu.Lock()
	st.over = true
	st.mu.Unlock()
	if st.broken {
		panic(http.ErrAbortHandler) // how a reset is asked for; it is not logged
	}
}

// reply passes an upstream's answer on. Each read is sent before the next, so
// events arrive as they come, and no more is read than the client takes.
func (st *http2Stream) reply(req *http.Request, resp *http.Response) (n uint64, again bool) {
	h := st.w.Header()
	maps.Copy(h, resp.Header)
	onlyTheirs(h)
	switch codingOf(req, resp) {
	case codedNone:
		if resp.StatusCode == http.StatusNoContent {
			delete(h, "Content-Length")
		}
		st.w.WriteHeader(resp.StatusCode)
		return 0, true
	case codedLength:
		h["Content-Length"] = []string{strconv.FormatInt(resp.ContentLength, 10)}
	default:
		delete(h, "Content-Length")
	}
	st.w.WriteHeader(resp.StatusCode)
	n, err := st.copy(resp)
	st.broken = err != nil
	if err == nil {
		for _, name := range trailerNames(resp.Trailer) {
			h[http.TrailerPrefix+name] = resp.Trailer[name]
		}
	}
	return n, err == nil
}

// copy sends the body, and the head alone first where the body may take its time.
func (st *http2Stream) copy(resp *http.Response) (n uint64, err error) {
	if resp.ContentLength < 0 {
		if err := st.control.Flush(); err != nil {
			return 0, err
		}
	}
	in := rooms.Get().(*room)
	defer in.put()
	for {
		m, err := resp.Body.Read(in.piece[:streamBuffer])
		if m > 0 {
			n += uint64(m)
			st.heed(m)
			if _, err := st.w.Write(in.piece[:m]); err != nil {
				return n, err
			}
			if err := st.control.Flush(); err != nil {
				return n, err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return n, err
		}
	}
}

// refuse sends an answer of ours. The stream ends with it, whatever of a body is
// still to come.
func (st *http2Stream) refuse(a answer, req *http.Request, _ bool) (again bool) {
	fields, body := a.render(req)
	h := st.w.Header()
	for _, f := range fields {
		h[f[0]] = []string{f[1]}
	}
	st.w.WriteHeader(a.status)
	_, err := st.w.Write(body)
	return err == nil
}

// onlyTheirs keeps the implementation from adding what the upstream did not send.
func onlyTheirs(h http.Header) {
	for _, name := range []string{"Content-Type", "Date"} {
		if _, ok := h[name]; !ok {
			h[name] = nil
		}
	}
}
