package lab

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Seen is one request as the upstream saw it.
type Seen struct {
	Conn       int // the connection that carried it, counted from 1
	TLS        bool
	Proto      string
	Method     string
	Host       string
	Target     string            // as on the wire, query included
	Headers    map[string]string // fingerprint of each header's values
	Authorized bool              // it carried the right credential
	Body       int64             // bytes read so far
}

// Authorization is the fingerprint of the credential, empty without one.
func (s Seen) Authorization() string { return s.Headers["Authorization"] }

// Fingerprint stands for a header's value where the value must not be shown: the
// first 8 hex digits of its SHA-256.
func Fingerprint(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:4])
}

// recorder keeps what was seen. Its methods may be called at the same time.
type recorder struct {
	mu          sync.Mutex
	connections int
	requests    []*Seen
}

// Seen returns the requests so far, in order of arrival.
func (u *Upstream) Seen() []Seen {
	u.seen.mu.Lock()
	defer u.seen.mu.Unlock()
	all := make([]Seen, len(u.seen.requests))
	for i, s := range u.seen.requests {
		all[i] = *s
		all[i].Headers = maps.Clone(s.Headers)
	}
	return all
}

// Connections returns how many connections all listeners have accepted: what a
// refused request must not raise.
func (u *Upstream) Connections() int {
	u.seen.mu.Lock()
	defer u.seen.mu.Unlock()
	return u.seen.connections
}

// Forget drops the requests recorded so far.
func (u *Upstream) Forget() {
	u.seen.mu.Lock()
	defer u.seen.mu.Unlock()
	u.seen.requests = nil
}

type authorizedKey struct{}
type connKey struct{}

// record notes each request before it is answered.
func (r *recorder) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s := &Seen{TLS: req.TLS != nil, Proto: req.Proto, Method: req.Method, Host: req.Host,
			Target: req.RequestURI, Headers: fingerprints(req.Header)}
		s.Conn, _ = req.Context().Value(connKey{}).(int)
		r.mu.Lock()
		r.requests = append(r.requests, s)
		r.mu.Unlock()
		req.Body = &counter{req.Body, r, s}
		next.ServeHTTP(w, req.WithContext(context.WithValue(req.Context(), authorizedKey{}, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			s.Authorized = true
		})))
	})
}

func fingerprints(h http.Header) map[string]string {
	prints := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		prints[name] = Fingerprint(strings.Join(h[name], "\n"))
	}
	return prints
}

// counter counts a body as it is read.
type counter struct {
	io.ReadCloser
	r *recorder
	s *Seen
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.r.mu.Lock()
	c.s.Body += int64(n)
	c.r.mu.Unlock()
	return n, err
}

// counted numbers the connections of a listener.
type counted struct {
	net.Listener
	r *recorder
}

type numbered struct {
	net.Conn
	number int
}

func (l counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	l.r.connections++
	return numbered{c, l.r.connections}, nil
}

// connContext carries a connection's number to its requests.
func connContext(ctx context.Context, c net.Conn) context.Context {
	if under, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = under.NetConn()
	}
	if n, ok := c.(numbered); ok {
		return context.WithValue(ctx, connKey{}, n.number)
	}
	return ctx
}
