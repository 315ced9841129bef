package mitm

import (
	"context"
	"io"
	"net"
	"sync"
	"time"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

// carried is a connection that is passed on unread.
type carried struct {
	g       *generation
	to      egress.Authority
	verdict egress.Verdict
	judge   func(*generation, egress.Authority) egress.Verdict // what gave the verdict
}

// judgeTCP lets a connection to a be passed on where a tcp:// rule says so and the
// host was never told a credential that it could say here.
func judgeTCP(g *generation, a egress.Authority) egress.Verdict {
	if g.Table.Searched(a.Host()) {
		return egress.Verdict{}
	}
	return g.Rules.AllowsTCP(a)
}

// judgeStream is for what was looked at and is neither TLS nor HTTP.
func judgeStream(g *generation, a egress.Authority) egress.Verdict { return g.Rules.OpensStream(a) }

// stays reports whether the connection is the same one under another generation.
func (c *carried) stays(g *generation) bool {
	return sameWay(c.verdict, c.judge(g, c.to)) && g.Dial.opensLike(c.g.Dial)
}

// splice carries a connection unread, both ways.
func (p *Proxy) splice(ctx context.Context, conn net.Conn, c *carried) {
	e := Event{
		Generation: c.g.Generation, Kind: audit.KindConnect, Authority: c.to, Rule: c.verdict.Index, Nearest: -1, Binding: -1,
		Decision: audit.Allow, Code: audit.CodeAllowed,
	}
	if p.frozen.Load() {
		p.note(destination(conn), c.to, audit.CodeFrozen)
		return
	}
	ctx, cancel := p.untilFrozen(ctx)
	defer cancel()
	way := &crossing{g: c.g, stays: c.stays, cut: cancel}
	if !p.cross(way) {
		p.note(destination(conn), c.to, audit.CodePolicyChanged)
		return
	}
	defer p.crossed(way)
	id, err := p.audit.Open(ctx, e)
	if err != nil {
		return
	}
	began := time.Now()
	e.Kind = audit.KindDone
	up, err := c.g.Dial.dial(ctx, c.to, c.verdict.AllowPrivate)
	if err != nil {
		e.Decision = audit.Deny
		e.Code, _ = classify(err)
	} else {
		e.BytesOut, e.BytesIn = join(ctx, conn, up, p.heed)
	}
	if way.ended.Load() {
		e.Decision, e.Code = audit.Deny, audit.CodePolicyChanged
	}
	e.Millis = millis(began)
	p.audit.Done(id, e)
}

// join copies both ways until both directions have ended or ctx has, and counts.
func join(ctx context.Context, conn, up net.Conn, heed func(n int)) (out, in uint64) {
	defer context.AfterFunc(ctx, func() {
		up.Close()
		conn.Close()
	})()
	defer up.Close()
	var both sync.WaitGroup
	both.Go(func() {
		defer func() {
			if recover() != nil {
				up.Close()
			}
		}()
		out = carry(up, conn, heed)
	})
	in = carry(conn, up, heed)
	both.Wait()
	return out, in
}

// spliced is how many bytes pass before others of the process have their turn.
const spliced = 1 << 20

// carry copies one direction and ends it at the other side. When it fails both
// connections are of no more use.
func carry(to, from net.Conn, heed func(n int)) uint64 {
	var n int64
	var err error
	for err == nil {
		var m int64
		m, err = io.CopyN(to, from, spliced) // which the kernel does, where both are sockets
		n += m
		heed(int(m) / splicedCheaper)
	}
	if err == io.EOF {
		err = nil
	}
	if w, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		err = w.CloseWrite()
	}
	if err != nil {
		to.Close()
		from.Close()
	}
	return uint64(n)
}

// millis is the time since began, in milliseconds.
func millis(began time.Time) uint32 {
	return uint32(min(time.Since(began).Milliseconds(), 1<<32-1))
}
