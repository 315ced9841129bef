package egressd

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime/debug"
	"strings"

	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/internal/fair"
	"github.com/omnijail/omnijail/internal/idle"
	"github.com/omnijail/omnijail/mitm"
)

// process is the state of an egress process. Its methods but those of ledger and
// cache run on the goroutine of serve.
type process struct {
	conn   *wire.Conn
	ledger *ledger
	cache  *cache
	config *wire.Config // nil until Hello
	roots  *x509.CertPool
	proxy  *mitm.Proxied // nil: none
	jails  map[string]*jail
	memory *idle.Memory
	meter  *fair.Meter
}

func newProcess(conn *wire.Conn) *process {
	return &process{conn: conn, ledger: newLedger(conn), cache: newCache(), jails: map[string]*jail{}, memory: idle.New(), meter: newMeter()}
}

// handle carries out one message. An error is one of the conversation itself and
// ends the process; what concerns one jail is answered instead.
func (p *process) handle(m wire.Message) error {
	switch m := m.(type) {
	case wire.Hello:
		return p.answer(m.Seq, p.hello(m))
	case wire.Attach:
		p.memory.Busy()
		return p.attach(m)
	case wire.Replace:
		return p.replace(m)
	case wire.Secret:
		return p.secret(m)
	case wire.Detach:
		p.memory.Busy()
		j, ok := p.jails[m.Jail]
		delete(p.jails, m.Jail)
		return p.end(m.Seq, j, ok)
	case wire.Freeze:
		j, ok := p.jails[m.Jail]
		return p.end(m.Seq, j, ok)
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
	defer closeFiles(m.Config, m.Login)
	var c wire.Config
	if err := wire.Unseal(m.Config, &c); err != nil {
		return wire.BadConfig
	}
	roots := x509.NewCertPool()
	if len(c.Roots) > 0 && !roots.AppendCertsFromPEM(c.Roots) {
		return wire.BadConfig
	}
	if c.Proxy.IsValid() {
		login, err := readLogin(m.Login)
		if err != nil {
			return wire.BadLogin
		}
		p.proxy = &mitm.Proxied{Address: c.Proxy, Login: login}
	}
	if c.Memory > 0 {
		// Sooner collect than be killed; the rest is what is not the collector's.
		debug.SetMemoryLimit(c.Memory / 4 * 3)
	}
	p.config, p.roots = &c, roots
	return wire.OK
}

const maxLogin = 1 << 10 // bytes of USER:PASSWORD

var errBadLogin = errors.New("not one line USER:PASSWORD")

// readLogin reads the login for the proxy, which cannot be in the Config: the
// daemon makes that and reads no secret.
func readLogin(f *os.File) (string, error) {
	if f == nil {
		return "", nil
	}
	b, err := io.ReadAll(io.LimitReader(f, maxLogin+1))
	if err != nil {
		return "", err
	}
	login := strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
	control := strings.ContainsFunc(login, func(r rune) bool { return r < ' ' || r == 0x7f })
	if len(b) > maxLogin || control || strings.IndexByte(login, ':') < 1 {
		return "", errBadLogin
	}
	return login, nil
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

// end cuts a jail's network and then answers. Its connections are waited for
// aside: one of them may wait for an Ack, which this goroutine reads. A frozen
// jail keeps its place until Detach.
func (p *process) end(seq uint32, j *jail, known bool) error {
	if !known {
		return p.answer(seq, wire.UnknownJail)
	}
	go func() {
		j.close()
		p.ledger.flush()
		p.answer(seq, wire.OK) // fails only when the daemon is gone, and then so are we
	}()
	return nil
}

func (p *process) close() {
	p.memory.Close()
	p.conn.Close()
	p.ledger.close()
	for _, j := range p.jails {
		j.close()
	}
}
