package egressd

import (
	"context"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/internal/fair"
	"github.com/omnijail/omnijail/mitm"
	"github.com/omnijail/omnijail/netns/dnsstub"
)

// jail is what the egress process holds of one jail.
type jail struct {
	id    string
	now   atomic.Pointer[inForce]
	ca    *mitm.CA
	proxy *mitm.Proxy
	share *fair.Share

	ctx    context.Context // ends with cut
	cancel context.CancelFunc
	once   sync.Once
	closes []io.Closer       // the sockets in its namespace
	told   []<-chan struct{} // closed after cut, when the last of what was refused has been sent

	mu          sync.Mutex
	closed      bool
	credentials map[uint16]*credential // values of the policy in force, by number
	had         map[uint16]bool        // numbers that were given
}

// attach builds a jail and answers with its placeholders and CA.
func (p *process) attach(m wire.Attach) error {
	defer closeFiles(append(m.Sockets(), m.Spec)...)
	j, status := p.build(m)
	if status != wire.OK {
		return p.answer(m.Seq, status)
	}
	p.jails[j.id] = j
	return p.conn.SendMessage(wire.Answer{
		Seq: m.Seq, Env: j.now.Load().table.Placeholders(), CADER: j.ca.DER(), Cached: p.fromCache(j, slices.Collect(maps.Values(j.credentials))),
	})
}

func (p *process) build(m wire.Attach) (*jail, wire.Status) {
	if p.config == nil {
		return nil, wire.NotReady
	}
	if _, twice := p.jails[m.Jail]; twice {
		return nil, wire.DoubleJail
	}
	j := &jail{id: m.Jail, credentials: map[uint16]*credential{}, had: map[uint16]bool{}}
	var spec wire.Spec
	if err := wire.Unseal(m.Spec, &spec); err != nil {
		return nil, wire.BadConfig
	}
	first, status := newPolicy(spec, nil)
	if status != wire.OK {
		return nil, status
	}
	fresh, ok := j.values(first, nil)
	if !ok {
		return nil, wire.BadBindings
	}
	j.take(fresh)
	j.now.Store(first)
	var err error
	if j.ca, err = mitm.NewCA(); err != nil {
		return nil, wire.NoCA
	}
	socks, err := openSockets(m)
	if err != nil {
		return nil, wire.BadSocket
	}
	j.closes = socks.closers()
	j.ctx, j.cancel = context.WithCancel(context.Background())
	if status := p.serveJail(j, socks); status != wire.OK {
		closeFiles(socks.packets)
		j.close()
		return nil, status
	}
	return j, wire.OK
}

// serveJail starts the DNS stub and the proxy on the jail's sockets.
func (p *process) serveJail(j *jail, s sockets) wire.Status {
	names := dnsstub.NewNames()
	j.share = p.meter.Join()
	auditor := &auditor{ledger: p.ledger, jail: j.id}
	refused := auditor.watch(j.ctx)
	j.told = append(j.told, refused.told)
	dns := dnsstub.Config{
		Allowed: func(host string) bool { return j.now.Load().rules.AllowsName(host) },
		Listed:  func(host string) bool { return j.now.Load().listed[host] },
		Names:   names,
		Denied:  func(name, _ string) { refused.name(name, audit.CodeNameDenied) },
		Heed:    func() { j.share.Wait(j.ctx, queryWork) },
		Limited: func(name string, _ error) { refused.name(name, audit.CodeFlood) },
	}
	proxy, err := mitm.New(mitm.Config{
		Jail: j.id, Names: names, CA: j.ca, Audit: auditor, Share: j.share, DNS: servesTCP(dns), Admit: dns.Admit,
		Policy: p.policy(j, 0, j.now.Load()),
	})
	if err != nil {
		return wire.BadConfig
	}
	j.proxy = proxy
	for _, l := range s.tcp {
		go p.until(j, func() error { return proxy.Serve(l) })
	}
	for _, l := range s.proxy {
		go p.until(j, func() error { return proxy.ServeExplicit(l) })
	}
	for _, c := range s.udp {
		go p.until(j, func() error { return dnsstub.Serve(c, dns) })
	}
	if s.packets != nil {
		j.told = append(j.told, auditor.watchPackets(j.ctx, s.packets, names))
	}
	return wire.OK
}

func (p *process) dialer(j *jail, spec wire.Spec) *mitm.Dialer {
	up := mitm.Upstream{Hosts: maps.Clone(p.config.Hosts), Roots: p.roots, AllowPrivate: spec.AllowPrivate, Denied: spec.Denied, Resolver: p.resolver(), Share: j.share, Proxy: p.proxy}
	if up.Hosts == nil {
		up.Hosts = spec.Hosts
	} else {
		maps.Copy(up.Hosts, spec.Hosts)
	}
	for _, e := range p.config.Private {
		up.Private = append(up.Private, mitm.PrivateExemption{Host: e.Host, Prefix: e.Prefix})
	}
	return mitm.NewDialer(up)
}

// until runs one server of a jail. When it ends although nobody cut the jail, the
// whole jail is cut: half a network is harder to understand than none.
func (p *process) until(j *jail, serve func() error) {
	serve() // the daemon is told that it ended, the reason would be a jail's to choose
	if j.ctx.Err() != nil {
		return
	}
	j.cut()
	p.conn.SendMessage(wire.Gone{Jail: j.id}) // fails only when the daemon is gone, and then so are we
}

// cut ends the jail's network. Connects are refused from then on, because the
// daemon has closed its copies of the listeners.
func (j *jail) cut() {
	j.once.Do(func() {
		j.cancel()
		if j.share != nil {
			j.share.Leave()
		}
		if j.proxy != nil {
			j.proxy.Close()
		}
		for _, c := range j.closes {
			c.Close()
		}
	})
}

// close ends everything of the jail. What is to be said of it has been sent when
// it returns.
func (j *jail) close() {
	j.cut()
	for _, told := range j.told {
		<-told
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	for _, c := range j.credentials {
		c.stop()
	}
}
