package lab

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// addReplies adds answers of every shape that a proxy has to carry:
//
//	/echo          the request's body
//	/headers       the request's headers, the credential with them
//	/bytes?n=N     N bytes of a known length
//	/chunked?n=N   N chunks, each flushed
//	/sse?n=N       N server-sent events, each flushed
//	/trailers      a body and an X-Sum trailer
//	/hints         103 Early Hints before the answer
//	/redirect?to=U 302 to U
//	/status?code=N an empty answer
//	/cookie        a Set-Cookie
//	/whoami        401 or the login, by the credential
//	/slow?ms=N     an answer after N milliseconds
//	/hold          no answer before Release or the client's end
//	/ws            a WebSocket that sends back what it gets
//	/unread        413 without reading the body
func (u *Upstream) addReplies(mux *http.ServeMux) {
	for pattern, answer := range map[string]http.HandlerFunc{
		"/echo":     echoBody,
		"/headers":  func(w http.ResponseWriter, r *http.Request) { r.Header.Write(w) },
		"/bytes":    func(w http.ResponseWriter, r *http.Request) { someBytes(w, number(r, "n", 0)) },
		"/chunked":  func(w http.ResponseWriter, r *http.Request) { flushed(w, r, "chunk %d\n") },
		"/sse":      events,
		"/trailers": trailers,
		"/hints":    hints,
		"/redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.FormValue("to"), http.StatusFound) },
		"/status":   func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(int(number(r, "code", 204))) },
		"/cookie":   func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Set-Cookie", "lab=1; Path=/") },
		"/whoami":   u.user,
		"/slow":     slow,
		"/hold":     u.hold,
		"/ws":       webSocket,
		"/unread":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) },
	} {
		mux.HandleFunc(pattern, answer)
	}
}

func number(r *http.Request, name string, otherwise int64) int64 {
	n, err := strconv.ParseInt(r.URL.Query().Get(name), 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}

func echoBody(w http.ResponseWriter, r *http.Request) {
	if t := r.Header.Get("Content-Type"); t != "" {
		w.Header().Set("Content-Type", t)
	}
	http.NewResponseController(w).EnableFullDuplex()
	io.Copy(w, r.Body)
}

// someBytes sends n bytes that differ, so that a lost or doubled block shows.
func someBytes(w http.ResponseWriter, n int64) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(n, 10))
	io.CopyN(w, &pattern{}, n)
}

// Bytes returns what /bytes sends, without end.
func Bytes() io.Reader { return &pattern{} }

// pattern yields the numbers of its own 8-byte blocks.
type pattern struct{ at int64 }

func (p *pattern) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte((p.at / 8) >> (8 * (p.at % 8)))
		p.at++
	}
	return len(b), nil
}

func flushed(w http.ResponseWriter, r *http.Request, format string) {
	flush := http.NewResponseController(w)
	for i := range number(r, "n", 3) {
		if _, err := fmt.Fprintf(w, format, i); err != nil || flush.Flush() != nil {
			return
		}
	}
}

func events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	flushed(w, r, "data: %d\n\n")
}

func trailers(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Trailer", "X-Sum")
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%d bytes\n", len(body))
	w.Header().Set("X-Sum", Fingerprint(string(body))+r.Trailer.Get("X-Request-Sum"))
}

func hints(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Link", "</style.css>; rel=preload")
	w.WriteHeader(http.StatusEarlyHints)
	io.WriteString(w, "after hints\n")
}

func slow(w http.ResponseWriter, r *http.Request) {
	select {
	case <-time.After(time.Duration(number(r, "ms", 100)) * time.Millisecond):
		io.WriteString(w, "at last\n")
	case <-r.Context().Done():
	}
}

func (u *Upstream) hold(w http.ResponseWriter, r *http.Request) {
	select {
	case <-u.held:
		io.WriteString(w, "released\n")
	case <-r.Context().Done():
	}
}
