package mitm

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/fair"
	"github.com/omnijail/omnijail/internal/guard"
)

// Upstream says how the outside is reached: the operator's part of the
// configuration, given as values so that nothing is read later.
type Upstream struct {
	// Hosts pins an authority, written "name:port", to one address. The guard
	// lets exactly that address and port through.
	Hosts map[string]netip.AddrPort
	// Roots are the only certificate authorities that an upstream is verified with.
	Roots *x509.CertPool
	// Private names the private destinations that the operator has opened.
	Private []PrivateExemption
	// AllowPrivate opens all private destinations, by the policy's weakening.
	// Metadata and the node's own addresses stay closed.
	AllowPrivate bool
	// Denied closes public addresses, by the policy's deny_addresses. No opt-in
	// and no entry of Hosts opens them.
	Denied []netip.Prefix
	// Resolver looks names up; nil is the node's resolver in pure Go.
	Resolver *net.Resolver
	// Share is the process's time that new connections wait for; nil: they do not.
	Share *fair.Share
	// Proxy is the operator's way out; nil connects directly.
	Proxy *Proxied
}

// PrivateExemption opens the addresses of Prefix for the names that Host covers: a
// name, or *.name.
type PrivateExemption struct {
	Host   string
	Prefix netip.Prefix
}

// Dialer connects to authorities. A name is resolved once, every address of it
// must pass the guard, and the kernel is given the checked address.
type Dialer struct {
	up     Upstream
	own    func() ([]netip.Addr, error)
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
}

const (
	connectTimeout = 10 * time.Second
	maxAddrs       = 8 // of one name that are tried
)

// NewDialer returns a Dialer over up.
func NewDialer(up Upstream) *Dialer {
	r := up.Resolver
	if r == nil {
		r = &net.Resolver{PreferGo: true}
	}
	if up.Roots == nil {
		up.Roots = x509.NewCertPool() // no roots given: nothing verifies
	}
	return &Dialer{up: up, own: guard.NodeAddrs, lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
		// The trailing dot keeps a search list from making another name of it.
		return r.LookupNetIP(ctx, "ip", host+".")
	}}
}

// dialError is a refusal or failure on the way out. Its class goes to the jail;
// the address and the system's words do not.
type dialError struct {
	code  audit.Code
	class string
	addr  netip.Addr // that the guard refused
	cause error
}

func (e *dialError) Error() string { return "upstream: " + e.class }
func (e *dialError) Unwrap() error { return e.cause }

// dial connects to a. The rule's own private prefixes are given by the caller.
func (d *Dialer) dial(ctx context.Context, a egress.Authority, private []netip.Prefix) (net.Conn, error) {
	d.up.Share.Heed(ctx, dialWork)
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if pin, ok := d.up.Hosts[a.String()]; ok {
		return connect(ctx, pin, d.only(pin))
	}
	if d.proxied(a) {
		return d.through(ctx, a)
	}
	list, err := d.resolve(ctx, a)
	if err != nil {
		return nil, err
	}
	judge := d.judge(a, private)
	for _, ip := range list {
		if code := judge(netip.AddrPortFrom(ip, a.Port())); code != "" {
			return nil, guardError(code, ip)
		}
	}
	return connectFirst(ctx, list, a.Port(), judge)
}

// only judges an address that the operator named: itself, unless the policy denies
// it or it is a metadata service's, and nothing else.
func (d *Dialer) only(pin netip.AddrPort) func(netip.AddrPort) audit.Code {
	return func(to netip.AddrPort) audit.Code {
		switch {
		case to != pin:
			return audit.CodePrivate
		case guard.MetadataAddr(to.Addr()):
			return audit.CodeMetadata
		case d.denied(to.Addr()):
			return audit.CodeDeniedAddress
		}
		return ""
	}
}

// resolve returns the addresses of a, looked up once.
func (d *Dialer) resolve(ctx context.Context, a egress.Authority) ([]netip.Addr, error) {
	if ip, ok := a.Addr(); ok {
		return []netip.Addr{ip}, nil
	}
	if guard.MetadataName(a.Host()) {
		return nil, guardError(audit.CodeMetadata, netip.Addr{})
	}
	list, err := d.lookup(ctx, a.Host())
	if err != nil {
		return nil, &dialError{code: audit.CodeUpstreamDNS, class: dnsClass(err), cause: err}
	}
	if len(list) == 0 {
		return nil, &dialError{code: audit.CodeUpstreamDNS, class: "name_has_no_address"}
	}
	return list, nil
}

// judge returns the judgement on one address and port as the node is now. If the
// node's addresses cannot be listed every address is its own, so that nothing is
// dialled on a guess.
func (d *Dialer) judge(a egress.Authority, private []netip.Prefix) func(netip.AddrPort) audit.Code {
	own, err := d.own()
	view := guard.View{
		Own: func(ip netip.Addr) bool { return err != nil || slices.Contains(own, ip) },
		Exempt: func(ip netip.Addr) bool {
			return d.up.AllowPrivate || within(private, ip) || d.operators(a, ip)
		},
		Denied: d.denied,
	}
	return func(to netip.AddrPort) audit.Code { return refusals[guard.Judge(to.Addr(), view)] }
}

// operators reports whether the operator lets a name have a private address.
func (d *Dialer) operators(a egress.Authority, ip netip.Addr) bool {
	return slices.ContainsFunc(d.up.Private, func(e PrivateExemption) bool {
		return egress.MatchHost(e.Host, a.Host()) && e.Prefix.Contains(ip)
	})
}

func (d *Dialer) denied(ip netip.Addr) bool { return within(d.up.Denied, ip.Unmap()) }

func within(list []netip.Prefix, ip netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// refusals are the codes of classes that are not dialled.
var refusals = map[guard.Class]audit.Code{
	guard.Denied: audit.CodeDeniedAddress, guard.Private: audit.CodePrivate,
	guard.Own: audit.CodeOwnAddress, guard.Metadata: audit.CodeMetadata,
}

// connectFirst tries the addresses in the resolver's order and shares the time
// that is left among them, so that a dead first address does not eat it all.
func connectFirst(ctx context.Context, list []netip.Addr, port uint16, judge func(netip.AddrPort) audit.Code) (net.Conn, error) {
	list = list[:min(len(list), maxAddrs)]
	var last error
	for i, ip := range list {
		deadline, _ := ctx.Deadline()
		share := time.Until(deadline) / time.Duration(len(list)-i)
		try, cancel := context.WithTimeout(ctx, share)
		conn, err := connect(try, netip.AddrPortFrom(ip, port), judge)
		cancel()
		if err == nil {
			return conn, nil
		}
		last = err
	}
	return nil, last
}

// connect dials one address. The guard runs again on what the kernel is about
// to be given: the check and the use are then one.
func connect(ctx context.Context, to netip.AddrPort, judge func(netip.AddrPort) audit.Code) (net.Conn, error) {
	var refused *dialError
	nd := net.Dialer{
		KeepAlive: 30 * time.Second,
		Control: func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("odd address %q: %w", address, err)
			}
			if code := judge(netip.AddrPortFrom(at.Addr().Unmap(), at.Port())); code != "" {
				refused = guardError(code, at.Addr().Unmap())
				return refused
			}
			return nil
		},
	}
	nd.SetMultipathTCP(false)
	conn, err := nd.DialContext(ctx, "tcp", to.String())
	switch {
	case err == nil:
		return conn, nil
	case refused != nil:
		return nil, refused
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return nil, &dialError{code: audit.CodeUpstreamTimeout, class: "connect_timeout", cause: err}
	}
	return nil, &dialError{code: audit.CodeUpstreamConnect, class: connectClass(err), cause: err}
}

func guardError(code audit.Code, addr netip.Addr) *dialError {
	return &dialError{code: code, class: string(code), addr: addr}
}
