package egressd

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"

	"github.com/omnijail/omnijail/internal/egressd/wire"
)

// process is the state of an egress process. Its methods but those of ledger and
// cache run on the goroutine of serve.
type process struct {
	conn   *wire.Conn
	ledger *ledger
	cache  *cache
	config *wire.Config // nil until Hello
	roots  *x509.CertPool
	jails  map[string]*jail
}

func newProcess(conn *wire.Conn) *process {
	return &process{conn: conn, ledger: newLedger(conn), cache: newCache(), jails: map[string]*jail{}}
}

// handle carries out one message. An error is one of the conversation itself and
// ends the process; what concerns one jail is answered instead.
func (p *process) handle(m wire.Message) error {
	switch m := m.(type) {
	case wire.Hello:
		return p.answer(m.Seq, p.hello(m))
	case wire.Attach:
		return p.attach(m)
	case wire.Secret:
		return p.secret(m)
	case wire.Detach:
		return p.answer(m.Seq, p.detach(m.Jail))
	case wire.Freeze:
		return p.answer(m.Seq, p.freeze(m.Jail))
	case wire.Ack:
		p.ledger.acknowledge(m.Records)
		return nil
	}
	return fmt.Errorf("%w: %T is not for an egress process", wire.ErrProtocol, m)
}

func (p *process) answer(seq uint32, s wire.Status) error {
	return p.conn.SendMessage(wire.Answer{Seq: seq, Status: s})
}

func (p *process) hello(m wire.Hello) wire.Status {
	defer m.Config.Close()
	var c wire.Config
	if err := wire.Unseal(m.Config, &c); err != nil {
		return wire.BadConfig
	}
	roots := x509.NewCertPool()
	if len(c.Roots) > 0 && !roots.AppendCertsFromPEM(c.Roots) {
		return wire.BadConfig
	}
	p.config, p.roots = &c, roots
	return wire.OK
}

// resolver returns the resolver of upstream names; nil is the node's own.
func (p *process) resolver() *net.Resolver {
	addr := p.config.Resolver
	if addr == (netip.AddrPort{}) {
		return nil
	}
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, addr.String())
	}}
}

func (p *process) detach(id string) wire.Status {
	j, ok := p.jails[id]
	if !ok {
		return wire.UnknownJail
	}
	delete(p.jails, id)
	j.close()
	return wire.OK
}

// freeze cuts the network of a jail; its table stays until Detach.
func (p *process) freeze(id string) wire.Status {
	j, ok := p.jails[id]
	if !ok {
		return wire.UnknownJail
	}
	j.cut()
	return wire.OK
}

func (p *process) close() {
	p.conn.Close()
	p.ledger.close()
	for id := range p.jails {
		p.detach(id)
	}
}
