package mitm

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

// protocol is what a connection's first bytes announce.
type protocol int

const (
	protoUnknown protocol = iota // more bytes are needed
	protoTLS
	protoHTTP
	protoSSH
	protoOther
)

// announcements are the first bytes of what we know, besides TLS.
var announcements = []struct {
	prefix string
	proto  protocol
}{
	{"GET ", protoHTTP}, {"HEAD ", protoHTTP}, {"POST ", protoHTTP}, {"PUT ", protoHTTP},
	{"DELETE ", protoHTTP}, {"PATCH ", protoHTTP}, {"OPTIONS ", protoHTTP},
	{"CONNECT ", protoHTTP}, {"TRACE ", protoHTTP}, {"PRI ", protoHTTP},
	{"SSH-2.0-", protoSSH},
}

const (
	tlsHandshake = 0x16 // the first byte of a TLS ClientHello's record
	portDNS      = 53
)

// front finds out where conn was meant to go.
func (p *Proxy) front(ctx context.Context, conn net.Conn) {
	at := destination(conn)
	a, err := p.authority(at)
	if err != nil || (at.Addr().IsLoopback() && isAddress(a)) {
		return // loopback belongs to the jail's own servers; nothing of ours is there
	}
	p.lead(ctx, conn, at, a)
}

// lead serves conn as a connection to a, however the jail came to it.
func (p *Proxy) lead(ctx context.Context, conn net.Conn, at netip.AddrPort, a egress.Authority) {
	if a.Port() == portDNS {
		p.dns(conn)
		return
	}
	g := p.now()
	if v := judgeTCP(g, a); v.Allow {
		p.splice(ctx, conn, &carried{g: g, to: a, verdict: v, judge: judgeTCP})
		return
	}
	conn.SetReadDeadline(time.Now().Add(firstByteTimeout))
	p.share.Begin()
	proto, read, err := sniff(conn)
	p.heed(len(read))
	p.share.End()
	if err != nil {
		return // it said nothing that could be refused
	}
	conn.SetReadDeadline(time.Time{})
	p.dispatch(ctx, &replayed{Conn: conn, prefix: read, heed: p.heed}, proto, at, a)
}

// dispatch serves conn as what it announced itself to be.
func (p *Proxy) dispatch(ctx context.Context, conn *replayed, proto protocol, at netip.AddrPort, a egress.Authority) {
	switch proto {
	case protoTLS:
		if p.passUnread(ctx, conn, a) {
			return
		}
		tc, code, alert := p.handshake(ctx, conn, a)
		if code != "" {
			p.noteAlert(at, a, code, alert)
			return
		}
		p.serveTLS(ctx, tc, a)
	case protoHTTP:
		p.serveHTTP1(ctx, conn, egress.HTTP, a)
	case protoSSH, protoOther:
		g := p.now()
		if v := judgeStream(g, a); v.Allow {
			p.splice(ctx, conn, &carried{g: g, to: a, verdict: v, judge: judgeStream})
			return
		}
		p.refuseStream(conn, proto, at, a)
	}
}

// refuseStream ends a connection that nobody can read.
func (p *Proxy) refuseStream(conn net.Conn, proto protocol, at netip.AddrPort, a egress.Authority) {
	switch proto {
	case protoSSH:
		p.note(at, a, audit.CodeSSH)
		p.refuseSSH(conn, a)
	default:
		p.note(at, a, audit.CodeRawTCP)
	}
}

// serveTLS serves a client in the protocol that the handshake settled.
func (p *Proxy) serveTLS(ctx context.Context, tc *tls.Conn, a egress.Authority) {
	if tc.ConnectionState().NegotiatedProtocol == protoHTTP2 {
		p.serveHTTP2(ctx, tc, a)
		return
	}
	p.serveHTTP1(ctx, tc, egress.HTTPS, a)
}

// authority is the one place where a connection's destination becomes an
// authority. All other mentions of a host are compared with it.
func (p *Proxy) authority(at netip.AddrPort) (egress.Authority, error) {
	if name, ok := p.names.Name(at.Addr()); ok {
		return egress.AuthorityFrom(name, at.Port())
	}
	return egress.AuthorityOf(at)
}

func isAddress(a egress.Authority) bool {
	_, ok := a.Addr()
	return ok
}

func (p *Proxy) dns(conn net.Conn) {
	if p.serveDNS != nil {
		p.serveDNS(conn)
	}
}

// destination is where the jail wanted to go: the address that the kernel gave
// the accepted connection.
func destination(conn net.Conn) netip.AddrPort {
	tcp, ok := conn.LocalAddr().(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	ap := tcp.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap().WithZone(""), ap.Port())
}

// sniff reads until the first bytes decide, and returns what it read.
func sniff(r io.Reader) (protocol, []byte, error) {
	buf := make([]byte, 2048) // a ClientHello fits, so it is read in one go
	for n := 0; ; {
		m, err := r.Read(buf[n:])
		n += m
		if proto := announced(buf[:n]); proto != protoUnknown {
			return proto, buf[:n], nil
		}
		if err != nil {
			return protoUnknown, nil, err
		}
	}
}

// announced decides as soon as the bytes allow it; it needs at most eight.
func announced(b []byte) protocol {
	if len(b) == 0 {
		return protoUnknown
	}
	if b[0] == tlsHandshake {
		return protoTLS
	}
	for _, k := range announcements {
		if n := min(len(b), len(k.prefix)); string(b[:n]) == k.prefix[:n] {
			if n == len(k.prefix) {
				return k.proto
			}
			return protoUnknown
		}
	}
	return protoOther
}

// replayed is a connection whose first bytes were read already.
type replayed struct {
	net.Conn
	prefix []byte
	heed   func(n int) // waits before what came is worked on; nil: nobody waits
}

func (c *replayed) Read(b []byte) (int, error) {
	if len(c.prefix) > 0 {
		n := copy(b, c.prefix)
		c.prefix = c.prefix[n:]
		return n, nil
	}
	n, err := c.Conn.Read(b)
	if n > 0 && c.heed != nil {
		c.heed(n)
	}
	return n, err
}

// CloseWrite ends our direction where the connection can.
func (c *replayed) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// refuseSSH tells an SSH client, in its own protocol, what to do instead.
func (p *Proxy) refuseSSH(conn net.Conn, a egress.Authority) {
	text := fmt.Sprintf("ssh to %s is not carried; use https: git remote set-url origin https://%s/OWNER/REPO", a, a.Host())
	for _, h := range p.now().GitHosts {
		if strings.EqualFold(h, a.Host()) {
			text = fmt.Sprintf("ssh to %s is not carried; this jail rewrites git@%s: to https", a, h)
		}
	}
	writeDisconnect(conn, text)
}
