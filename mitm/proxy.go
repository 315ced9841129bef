package mitm

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/fair"
	"github.com/omnijail/omnijail/mitm/explicit"
)

// The limits of one jail.
const (
	maxConns         = 256
	firstByteTimeout = 10 * time.Second // until the client says what it speaks
	handshakeTimeout = 10 * time.Second
	headerTimeout    = 10 * time.Second // from a head's first byte to its last
	idleTimeout      = 60 * time.Second // between two requests
	refusalBurst     = 400              // refusals at once, then refusalRate
	refusalRate      = 50               // per second
)

// Proxy carries the connections of one jail. Make it with New.
type Proxy struct {
	names    Names
	audit    Auditor
	serveDNS func(net.Conn)
	leaves   *leaves
	turns    turns
	share    *fair.Share
	admit    func(host string) error
	tunnels  func() *explicit.Front // made for the first that asks
	refusals *bucket
	frozen   atomic.Bool
	mirrored atomic.Int32               // replies that held a secret
	streams  atomic.Int64               // requests over HTTP/2 that are not over
	inForce  atomic.Pointer[generation] // changed under mu

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	thawed context.Context // ends with Freeze, and with ctx
	cut    context.CancelFunc
	wg     sync.WaitGroup

	telling sync.Mutex // a token is given and what must not be under way then is cut; taken before mu

	mu        sync.Mutex
	closed    bool
	listeners map[net.Listener]struct{}
	conns     map[net.Conn]struct{}
	crossings map[*crossing]struct{}
}

// New returns a Proxy over cfg, or an error that names the missing part.
func New(cfg Config) (*Proxy, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	thawed, cut := context.WithCancel(ctx)
	p := &Proxy{
		names:     cfg.Names,
		audit:     cfg.Audit,
		serveDNS:  cfg.DNS,
		turns:     newTurns(),
		share:     cfg.Share,
		refusals:  newBucket(refusalBurst, refusalRate),
		ctx:       ctx,
		cancel:    cancel,
		thawed:    thawed,
		cut:       cut,
		listeners: map[net.Listener]struct{}{},
		conns:     map[net.Conn]struct{}{},
		crossings: map[*crossing]struct{}{},
	}
	p.leaves = newLeaves(cfg.CA, func(a egress.Authority) bool { return p.now().Rules.PrefersHTTP2(a) })
	p.inForce.Store(newGeneration(cfg.Policy))
	p.admit = cfg.Admit
	if p.admit == nil {
		p.admit = func(string) error { return errors.New("names come from the jail's DNS alone") }
	}
	p.tunnels = sync.OnceValue(func() *explicit.Front {
		return explicit.New(func(string) { p.note(netip.AddrPort{}, egress.Authority{}, audit.CodeBadRequest) })
	})
	return p, nil
}

// Serve accepts from l until Close, then returns nil. It closes l. An error is
// one of the listener's own.
func (p *Proxy) Serve(l net.Listener) error { return p.accept(l, p.front) }

// server serves one connection to its end.
type server func(context.Context, net.Conn)

func (p *Proxy) accept(l net.Listener, serve server) error {
	if !p.addListener(l) {
		return l.Close()
	}
	defer p.removeListener(l)
	var pause time.Duration
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			p.share.Wait(p.ctx, acceptWork)
			p.start(conn, serve)
		case p.ctx.Err() != nil, errors.Is(err, net.ErrClosed):
			return nil
		case isTimeout(err) || pause < time.Second:
			// Out of descriptors, most likely: they come back as connections end.
			pause = max(5*time.Millisecond, 2*pause)
			p.sleep(pause)
		default:
			return err
		}
	}
}

// Freeze ends what is under way and refuses every request from now on, with code
// frozen. Nothing thaws it.
func (p *Proxy) Freeze() {
	p.frozen.Store(true)
	p.cut()
}

// untilFrozen returns a context that ends with ctx, and with Freeze.
func (p *Proxy) untilFrozen(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx == p.ctx { // with which thawed ends, too
		return context.WithCancel(p.thawed)
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(p.thawed, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// Close ends all connections, to the jail and from it, and waits for them. It
// may be called more than once.
func (p *Proxy) Close() error {
	p.cancel()
	p.mu.Lock()
	p.closed = true
	for l := range p.listeners {
		l.Close()
	}
	for c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
	p.now().lanes.close()
	return nil
}

// start runs one connection, or closes it where the jail has too many.
func (p *Proxy) start(conn net.Conn, serve server) {
	p.mu.Lock()
	full, closed := len(p.conns) >= maxConns, p.closed
	if !full && !closed {
		p.conns[conn] = struct{}{}
		p.wg.Add(1)
	}
	p.mu.Unlock()
	switch {
	case closed:
		conn.Close()
	case full:
		conn.Close()
		p.flooded(conn)
	default:
		go p.run(conn, serve)
	}
}

// run serves conn to its end. A panic ends this connection and no other.
func (p *Proxy) run(conn net.Conn, serve server) {
	defer p.wg.Done()
	defer func() {
		if recover() != nil {
			p.note(destination(conn), egress.Authority{}, audit.CodeBadRequest)
		}
		conn.Close()
		p.mu.Lock()
		delete(p.conns, conn)
		p.mu.Unlock()
	}()
	serve(p.ctx, conn)
}

// flooded records that a connection was one too many, without holding up accept.
func (p *Proxy) flooded(conn net.Conn) {
	if !p.refusals.take() {
		return
	}
	e := connectEvent(destination(conn), egress.Authority{}, audit.CodeFlood)
	p.wg.Go(func() {
		defer func() { _ = recover() }() // the connection is closed already
		p.record(p.ctx, e)
	})
}

// note records a connection that was closed without an answer. Beyond the
// refusal rate it is not recorded again: the first of a flood says it all.
func (p *Proxy) note(at netip.AddrPort, a egress.Authority, code audit.Code) {
	p.noteAlert(at, a, code, 0)
}

// noteAlert does so with the number of the client's alert, 0 for none.
func (p *Proxy) noteAlert(at netip.AddrPort, a egress.Authority, code audit.Code, alert int) {
	if p.refusals.take() {
		e := connectEvent(at, a, code)
		e.Status = alert
		p.record(p.ctx, e)
	}
}

// record writes a refusal of a connection. There is nobody to tell when that
// fails, and nothing was let through.
func (p *Proxy) record(ctx context.Context, e Event) {
	e.Generation = p.now().Generation
	_, _ = p.audit.Open(ctx, e)
}

func connectEvent(at netip.AddrPort, a egress.Authority, code audit.Code) Event {
	e := Event{
		Kind: audit.KindConnect, Authority: a, Decision: audit.Deny, Code: code,
		Rule: -1, Nearest: -1, Binding: -1,
	}
	if a.IsZero() {
		e.Name = at.String()
	}
	return e
}

func (p *Proxy) addListener(l net.Listener) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.listeners[l] = struct{}{}
	return true
}

func (p *Proxy) removeListener(l net.Listener) {
	l.Close()
	p.mu.Lock()
	delete(p.listeners, l)
	p.mu.Unlock()
}

func (p *Proxy) sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.ctx.Done():
	}
}
