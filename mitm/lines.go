package mitm

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/omnijail/omnijail/internal/egress"
)

// lines are the idle lines of one lane.
type lines struct {
	dial    *Dialer
	private []netip.Prefix
	config  *tls.Config

	mu     sync.Mutex
	idle   map[upstream][]*line // the latest last
	sweep  *time.Timer          // runs while some are idle
	closed bool                 // none is kept any more
}

// upstream is what a line leads to.
type upstream struct {
	scheme    egress.Scheme
	authority egress.Authority
}

func newLines(d *Dialer, private []netip.Prefix) *lines {
	config := d.tlsConfig()
	config.NextProtos = []string{"http/1.1"}
	return &lines{dial: d, private: private, config: config, idle: map[upstream][]*line{}}
}

// take returns an idle line to an upstream, nil when there is none.
func (ls *lines) take(to upstream) *line {
	for {
		ls.mu.Lock()
		list := ls.idle[to]
		if len(list) == 0 {
			ls.mu.Unlock()
			return nil
		}
		l := list[len(list)-1]
		list[len(list)-1] = nil
		ls.idle[to] = list[:len(list)-1]
		ls.mu.Unlock()
		if time.Since(l.idle) < upstreamIdle && l.quiet() {
			return l
		}
		l.conn.Close()
	}
}

// put keeps a line for the next request.
func (ls *lines) put(to upstream, l *line) {
	l.idle = time.Now()
	ls.mu.Lock()
	defer ls.mu.Unlock()
	list := ls.idle[to]
	if ls.closed || l.bare == nil || len(list) >= maxConns {
		go l.conn.Close() // it says goodbye, which may wait
		return
	}
	ls.idle[to] = append(list, l)
	if ls.sweep == nil {
		ls.sweep = time.AfterFunc(upstreamIdle, ls.sweepUp)
	}
}

// sweepUp closes what has been idle for long.
func (ls *lines) sweepUp() {
	ls.mu.Lock()
	var old []*line
	for to, list := range ls.idle {
		n := slices.IndexFunc(list, func(l *line) bool { return time.Since(l.idle) < upstreamIdle })
		if n < 0 {
			n = len(list)
		}
		old = append(old, list[:n]...)
		if ls.idle[to] = slices.Clone(list[n:]); n == len(list) {
			delete(ls.idle, to)
		}
	}
	if ls.sweep = nil; len(ls.idle) > 0 {
		ls.sweep = time.AfterFunc(upstreamIdle/2, ls.sweepUp)
	}
	ls.mu.Unlock()
	for _, l := range old {
		l.conn.Close()
	}
}

// close closes idle lines, and from now on each one with the reply that it carries.
func (ls *lines) close() {
	ls.mu.Lock()
	idle := ls.idle
	ls.closed, ls.idle = true, map[upstream][]*line{}
	if ls.sweep != nil {
		ls.sweep.Stop()
	}
	ls.mu.Unlock()
	for _, list := range idle {
		for _, l := range list {
			l.conn.Close()
		}
	}
}

// connect makes a line to an upstream.
func (ls *lines) connect(ctx context.Context, to upstream) (*line, error) {
	bare, err := ls.dial.dial(ctx, to.authority, ls.private)
	if err != nil {
		return nil, err
	}
	if to.scheme != egress.HTTPS {
		return newLine(bare, nil, bare), nil
	}
	raw := &ahead{Conn: bare}
	conn, err := secure(ctx, raw, to.authority, ls.config.Clone())
	if err != nil {
		return nil, err
	}
	return newLine(conn, raw, bare), nil
}

// trip sends requests without a body to one upstream.
type trip struct {
	lines *lines
	to    upstream
}

// RoundTrip sends req on an idle line or a new one. The line ends with the request's
// context, if the reply's body has not been read by then.
func (t trip) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if l := t.lines.take(t.to); l != nil {
		before := l.got
		resp, err := t.on(ctx, l, req)
		// The upstream may have closed it meanwhile. What can have been read by
		// nobody, or changes nothing, is sent once more.
		if err == nil || l.got > before || !safe(req.Method) || ctx.Err() != nil {
			return resp, err
		}
	}
	l, err := t.lines.connect(ctx, t.to)
	if err != nil {
		return nil, err
	}
	return t.on(ctx, l, req)
}

// safe reports whether a request may be sent twice.
func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// on sends req on l.
func (t trip) on(ctx context.Context, l *line, req *http.Request) (*http.Response, error) {
	cancelled := context.AfterFunc(ctx, func() { l.conn.Close() })
	resp, err := l.exchange(req)
	if err != nil {
		cancelled()
		l.conn.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	keep := !resp.Close && resp.StatusCode >= 200
	over := func(whole bool) {
		clean := l.narrow() && l.br.Buffered() == 0
		if cancelled() && whole && keep && clean {
			t.lines.put(t.to, l)
		} else {
			l.conn.Close()
		}
	}
	if resp.Body == http.NoBody {
		over(true)
	} else {
		resp.Body = &lineBody{Reader: resp.Body, line: l, over: over}
	}
	return resp, nil
}
