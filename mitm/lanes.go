package mitm

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

const (
	replyTimeout   = 15 * time.Minute // until an upstream begins to answer
	upstreamIdle   = 30 * time.Second
	continueWait   = time.Second
	maxReplyHeader = 64 << 10
	streamBuffer   = 64 << 10
	replyWindow    = 512 << 10 // bytes of a reply over HTTP/2 that wait for the client
	sessionCache   = 32
)

// lanes holds the upstream transports of one jail. A lane belongs to one
// credential (-1: none) and to one set of private addresses that rules open, so
// that no connection is ever used under another's rights. A client of HTTP/2 has
// lanes that offer it to the upstream too; one of HTTP/1 keeps to HTTP/1, so that
// its large bodies do not pay for frames on the way.
type lanes struct {
	dial *Dialer

	mu    sync.Mutex
	byKey map[laneKey]*http.Transport // for requests with a body, and HTTP/2
	lines map[laneKey]*lines          // for those without one
}

type laneKey struct {
	binding int
	private string
	http2   bool
}

func newLanes(d *Dialer) *lanes {
	return &lanes{dial: d, byKey: map[laneKey]*http.Transport{}, lines: map[laneKey]*lines{}}
}

// get returns the lane of a binding under rules that open private.
func (l *lanes) get(binding int, private []netip.Prefix, http2 bool) *http.Transport {
	key := laneKey{binding: binding, private: prefixKey(private), http2: http2}
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.byKey[key]
	if t == nil {
		t = l.dial.transport(private, http2)
		l.byKey[key] = t
	}
	return t
}

// trips returns the lines of a binding under rules that open private.
func (l *lanes) trips(binding int, private []netip.Prefix) *lines {
	key := laneKey{binding: binding, private: prefixKey(private)}
	l.mu.Lock()
	defer l.mu.Unlock()
	ls := l.lines[key]
	if ls == nil {
		ls = newLines(l.dial, private)
		l.lines[key] = ls
	}
	return ls
}

func (l *lanes) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.byKey {
		t.CloseIdleConnections()
	}
	for _, ls := range l.lines {
		ls.close()
	}
}

func prefixKey(list []netip.Prefix) string {
	if len(list) == 0 {
		return ""
	}
	text := make([]string, len(list))
	for i, p := range list {
		text[i] = p.String()
	}
	slices.Sort(text)
	return strings.Join(slices.Compact(text), " ")
}

// transport is one lane: no proxy of the environment's, no decompression,
// verification always on. HTTP/2 is spoken where it is asked for and the
// upstream's handshake chooses it.
func (d *Dialer) transport(private []netip.Prefix, http2 bool) *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(http2)
	return &http.Transport{
		Protocols:              &protocols,
		HTTP2:                  &http.HTTP2Config{MaxReceiveBufferPerStream: replyWindow},
		DialContext:            d.dialer(private),
		DisableCompression:     true,
		MaxIdleConnsPerHost:    maxConns,
		IdleConnTimeout:        upstreamIdle,
		TLSHandshakeTimeout:    handshakeTimeout,
		ResponseHeaderTimeout:  replyTimeout,
		ExpectContinueTimeout:  continueWait,
		MaxResponseHeaderBytes: maxReplyHeader,
		ReadBufferSize:         streamBuffer,
		WriteBufferSize:        streamBuffer,
		TLSClientConfig:        d.tlsConfig(),
	}
}

// tlsConfig verifies an upstream. The server's name is for the caller to set.
func (d *Dialer) tlsConfig() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		RootCAs:            d.up.Roots,
		ClientSessionCache: tls.NewLRUClientSessionCache(sessionCache),
		VerifyConnection:   vetStaple,
	}
}

// secure makes conn a connection of TLS to a, or closes it.
func secure(ctx context.Context, conn net.Conn, a egress.Authority, config *tls.Config) (*tls.Conn, error) {
	config.ServerName = a.Host()
	tc := tls.Client(conn, config)
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if err := tc.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return tc, nil
}

// dialer is the transport's view of dial. It recovers because the transport
// calls it on a goroutine of its own.
func (d *Dialer) dialer(private []netip.Prefix) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, addr string) (conn net.Conn, err error) {
		defer func() {
			if v := recover(); v != nil {
				conn, err = nil, &dialError{code: audit.CodeUpstreamConnect, class: "internal_error"}
			}
		}()
		a, err := egress.ParseAuthority(addr, 0)
		if err != nil {
			return nil, fmt.Errorf("upstream: %w", err)
		}
		return d.dial(ctx, a, private)
	}
}
