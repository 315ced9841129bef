package mitm

import (
	"bufio"
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/guard"
)

// Proxied says that the node reaches the outside through a proxy of the operator's,
// by CONNECT. The proxy looks names up, so that the guard over their addresses is
// the proxy's; it is told only names that a rule has allowed.
type Proxied struct {
	Address netip.AddrPort
	// Login is USER:PASSWORD for the proxy; empty: none. It is sent to Address
	// alone and never reaches an upstream.
	Login string
}

const maxProxyHead = 16 << 10 // bytes of the proxy's reply to CONNECT

// proxied reports whether a is reached through the proxy: all but what the operator
// says is in a private network of the node's own.
func (d *Dialer) proxied(a egress.Authority) bool {
	if d.up.Proxy == nil {
		return false
	}
	for _, e := range d.up.Private {
		if egress.MatchHost(e.Host, a.Host()) {
			return false
		}
	}
	return true
}

// through connects to a by way of the proxy. What can be judged without looking a
// name up is judged here all the same.
func (d *Dialer) through(ctx context.Context, a egress.Authority) (net.Conn, error) {
	if guard.MetadataName(a.Host()) {
		return nil, guardError(audit.CodeMetadata, netip.Addr{})
	}
	if ip, ok := a.Addr(); ok {
		if code := d.judge(a, nil)(netip.AddrPortFrom(ip, a.Port())); code != "" {
			return nil, guardError(code, ip)
		}
	}
	at := d.up.Proxy.Address
	conn, err := connect(ctx, at, d.only(at))
	if err != nil {
		return nil, err
	}
	tunnel, err := d.tunnel(ctx, conn, a)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return tunnel, nil
}

// tunnel asks the proxy for a and reads its answer, within ctx.
func (d *Dialer) tunnel(ctx context.Context, conn net.Conn, a egress.Authority) (net.Conn, error) {
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	var b strings.Builder
	b.WriteString("CONNECT " + a.String() + " HTTP/1.1\r\nHost: " + a.String() + "\r\n")
	if login := d.up.Proxy.Login; login != "" {
		b.WriteString("Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(login)) + "\r\n")
	}
	b.WriteString("\r\n")
	if _, err := conn.Write([]byte(b.String())); err != nil {
		return nil, proxyError("proxy_broken", err)
	}
	br := bufio.NewReader(io.LimitReader(conn, maxProxyHead))
	resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
	switch {
	case ctx.Err() != nil:
		return nil, &dialError{code: audit.CodeUpstreamTimeout, class: "proxy_timeout", cause: ctx.Err()}
	case err != nil:
		return nil, proxyError("proxy_broken", err)
	case resp.StatusCode == http.StatusProxyAuthRequired:
		return nil, proxyError("proxy_wants_login", nil)
	case resp.StatusCode != http.StatusOK:
		return nil, proxyError("proxy_refused", nil)
	}
	if br.Buffered() == 0 {
		return conn, nil
	}
	early, err := br.Peek(br.Buffered()) // the upstream spoke first
	return &replayed{Conn: conn, prefix: early}, err
}

func proxyError(class string, cause error) *dialError {
	return &dialError{code: audit.CodeUpstreamConnect, class: class, cause: cause}
}
