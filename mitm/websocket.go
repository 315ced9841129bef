package mitm

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

const (
	webSocketGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11" // RFC 6455 section 1.3
	upgradeTime   = 60 * time.Second                       // for an upstream to answer a handshake
	maxInterim    = 5                                      // replies of class 1xx before the final one
)

// upgrader takes one request to the upstream on a connection of its own, because
// that connection may become something that no request can follow.
type upgrader struct {
	dial      *Dialer
	scheme    egress.Scheme
	authority egress.Authority
	private   []netip.Prefix
}

// upgraded is the connection behind a reply, with what of it was read already.
type upgraded struct {
	duplex
	r    io.Reader
	stop func() bool
}

func (u *upgraded) Read(b []byte) (int, error) { return u.r.Read(b) }

func (u *upgraded) Close() error {
	u.stop()
	return u.duplex.Close()
}

// body is a reply's body that takes its connection along.
type upgradedBody struct {
	io.Reader
	io.Closer
}

// RoundTrip returns a reply whose body is an *upgraded when its status is 101. The
// connection ends with the request's context.
func (u *upgrader) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	conn, err := u.connect(ctx)
	if err != nil {
		return nil, err
	}
	up := &upgraded{duplex: conn, stop: context.AfterFunc(ctx, func() { conn.Close() })}
	conn.SetDeadline(time.Now().Add(upgradeTime))
	if err := req.Write(conn); err != nil {
		up.Close()
		return nil, err
	}
	// A head without an end ends here; behind the head there is no limit.
	limited := &io.LimitedReader{R: conn, N: maxReplyHeader}
	br := bufio.NewReader(limited)
	up.r = br
	resp, err := finalReply(br, req)
	if err != nil {
		up.Close()
		return nil, err
	}
	limited.N = math.MaxInt64
	conn.SetDeadline(time.Time{})
	if resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body = up
	} else {
		resp.Body = upgradedBody{resp.Body, up}
	}
	return resp, nil
}

// finalReply reads past interim replies.
func finalReply(br *bufio.Reader, req *http.Request) (*http.Response, error) {
	for range maxInterim {
		resp, err := http.ReadResponse(br, req)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols {
			return resp, nil
		}
	}
	return nil, errors.New("the upstream answers without end")
}

// connect makes the connection: TLS where the scheme is, with HTTP/1.1 inside.
func (u *upgrader) connect(ctx context.Context) (duplex, error) {
	conn, err := u.dial.dial(ctx, u.authority, u.private)
	if err != nil {
		return nil, err
	}
	if u.scheme != egress.HTTPS {
		return conn.(duplex), nil
	}
	config := u.dial.tlsConfig()
	config.NextProtos = []string{"http/1.1"}
	return secure(ctx, conn, u.authority, config)
}

// vetWebSocket holds the upstream's side of the handshake to RFC 6455 section 4.2.
func (x *exchange) vetWebSocket(resp *http.Response) error {
	asked, h := x.req.Header, resp.Header
	sum := sha1.Sum([]byte(asked.Get(webSocketKey) + webSocketGUID))
	switch {
	case !strings.EqualFold(strings.Join(tokens(h, "Upgrade"), ","), "websocket"),
		!slices.ContainsFunc(tokens(h, "Connection"), func(s string) bool { return strings.EqualFold(s, "upgrade") }):
		return errors.New("the upstream switched to another protocol")
	case len(h[webSocketAccept]) != 1 || h.Get(webSocketAccept) != base64.StdEncoding.EncodeToString(sum[:]):
		return errors.New("the upstream did not read the handshake's key")
	}
	for _, p := range tokens(h, webSocketProtocol) {
		if !slices.Contains(tokens(asked, webSocketProtocol), p) {
			return errors.New("the upstream chose a subprotocol that was not offered")
		}
	}
	if len(tokens(h, webSocketExtensions)) > 0 && len(tokens(asked, webSocketExtensions)) == 0 {
		return errors.New("the upstream chose an extension that was not offered")
	}
	return nil
}

// switched answers a handshake and carries the WebSocket to its end.
func (x *exchange) switched(ctx context.Context, resp *http.Response) {
	up, c := resp.Body.(*upgraded), x.to.(*http1Conn)
	stripReply(resp.Header)
	var in uint64
	if err := c.switchProtocols(resp.Header); err == nil {
		t := &tunnel{jail: c.conn.(duplex), up: up, fromJail: c.br, heed: x.s.p.heed}
		if x.searched() {
			t.fromUp = newWebFrames(up, x.g.Table.NewScrubber, func(hits int) error { return x.reflectedFrame(ctx, hits) })
		}
		x.out, in = t.carry()
	}
	code := audit.CodeAllowed
	if x.hits > 0 {
		code = audit.CodeReflection
	}
	x.done(audit.Allow, code, resp.StatusCode, in)
}

// switchProtocols writes the 101.
func (c *http1Conn) switchProtocols(h http.Header) error {
	c.beginReply()
	h["Connection"], h["Upgrade"] = []string{"Upgrade"}, []string{"websocket"}
	fmt.Fprintf(c.bw, "HTTP/1.1 101 %s\r\n", http.StatusText(http.StatusSwitchingProtocols))
	if err := h.Write(c.bw); err != nil {
		return err
	}
	if _, err := c.bw.WriteString("\r\n"); err != nil {
		return err
	}
	return c.bw.Flush()
}
