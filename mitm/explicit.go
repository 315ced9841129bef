package mitm

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

const (
	portHTTP      = 80
	absoluteStart = "http://"
)

// ServeExplicit is Serve for a listener of the proxy's own port, to which clients
// come that were told of a proxy. They name the authority themselves, in a
// CONNECT or in each request; from there on they are served as if they had
// connected to it.
func (p *Proxy) ServeExplicit(l net.Listener) error { return p.accept(l, p.explicit) }

// explicit runs one such connection to its end.
func (p *Proxy) explicit(ctx context.Context, conn net.Conn) {
	s := p.newHTTP1(conn, session{p: p})
	for p.nextExplicit(ctx, s) {
	}
	s.release() // not after a panic, as in serveHTTP1
}

// nextExplicit serves one request and reports whether another may follow, for
// whatever authority.
func (p *Proxy) nextExplicit(ctx context.Context, s *http1Conn) bool {
	req, no, ok := s.read()
	if !ok {
		return false
	}
	to := &session{p: p, scheme: egress.HTTP, at: destination(s.conn)}
	connect := no == nil && req.Method == http.MethodConnect
	switch {
	case no != nil:
	case connect:
		to.scheme = egress.HTTPS
		to.authority, no = connectAuthority(req)
	default:
		to.authority, no = takeAuthority(req)
	}
	p.share.Begin()
	defer p.share.End()
	x := newExchange(to, s, req)
	if no == nil {
		no = x.enter()
	}
	switch {
	case no != nil:
		return x.refuse(ctx, no)
	case connect:
		p.tunnel(ctx, s, to.authority)
		return false
	}
	return x.run(ctx)
}

// connectAuthority is the authority of a CONNECT. Its port must be there.
func connectAuthority(req *http.Request) (egress.Authority, *refusal) {
	a, err := egress.ParseAuthority(req.RequestURI, 0)
	if err != nil {
		return a, badRequest("the target of CONNECT is not HOST:PORT")
	}
	if req.ContentLength != 0 {
		return a, badRequest("CONNECT has a body")
	}
	if req.Host == "" {
		return a, nil
	}
	switch named, err := egress.ParseAuthority(req.Host, a.Port()); {
	case err != nil:
		return a, badRequest("the Host header is not a host")
	case named != a:
		return a, refuse(http.StatusMisdirectedRequest, audit.CodeAuthority, fmt.Sprintf("Host names %s in a CONNECT to %s", named, a))
	}
	return a, nil
}

// takeAuthority takes the authority off the target of a request that is meant for
// a proxy, and leaves the target as it would be without one. The gate compares
// Host with it.
func takeAuthority(req *http.Request) (egress.Authority, *refusal) {
	rest, ok := strings.CutPrefix(req.RequestURI, absoluteStart)
	if !ok {
		return egress.Authority{}, badRequest("this is a proxy: the target must be http://HOST/PATH, and CONNECT is the way to an https one")
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	a, err := egress.ParseAuthority(rest[:end], portHTTP)
	if err != nil {
		return a, badRequest("the target is not http://HOST/PATH")
	}
	req.RequestURI = rest[end:]
	if !strings.HasPrefix(req.RequestURI, "/") {
		req.RequestURI = "/" + req.RequestURI
	}
	return a, nil
}

// enter decides whether an authority that the client named may be used at all: the
// question that the jail's DNS answers for one that it looks up. A request for a
// host that has no rule is left to the rules, which say more.
func (x *exchange) enter() *refusal {
	a, p := x.s.authority, x.s.p
	if ip, ok := a.Addr(); ok {
		if ip.IsLoopback() {
			return refuse(http.StatusForbidden, audit.CodeIPLiteral, "loopback is the jail's own: NO_PROXY keeps it away from the proxy")
		}
		named, err := p.authority(netip.AddrPortFrom(ip, a.Port()))
		if err != nil {
			return badRequest("the target is no address")
		}
		x.s.authority = named
	} else if x.g.Rules.AllowsName(a.Host()) {
		if err := p.admit(a.Host()); err != nil {
			return refuse(http.StatusTooManyRequests, audit.CodeFlood, err.Error())
		}
	}
	if x.req.Method != http.MethodConnect {
		return nil
	}
	if misplaced(x.req.Header) {
		return x.misused()
	}
	if !x.g.Rules.AllowsName(x.s.authority.Host()) {
		if !isAddress(x.s.authority) {
			return refuseName(x.s.authority.Host())
		}
		x.verdict = x.decide(http.MethodConnect, "/", "")
		return x.denied(x.verdict, http.MethodConnect, "/")
	}
	return nil
}

// refuseName refuses a name for which there is no rule at all, under the code that
// the jail's DNS would have: what was wanted of the host is not known.
func refuseName(host string) *refusal {
	no := refuse(http.StatusForbidden, audit.CodeNameDenied, "no rule allows a request to "+host)
	no.name = host
	return no
}

// tunnel answers a CONNECT and serves what comes through it as a connection to a.
func (p *Proxy) tunnel(ctx context.Context, s *http1Conn, a egress.Authority) {
	early, _ := s.br.Peek(s.br.Buffered()) // a ClientHello may have come right behind
	conn := &replayed{Conn: s.conn, prefix: append([]byte(nil), early...)}
	p.tunnels().Connect(ctx, conn, a.String(), func(conn net.Conn) {
		p.lead(ctx, conn, destination(conn), a)
	})
}
