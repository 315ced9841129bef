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

// splice carries a connection that a tcp:// rule allows, unread, both ways.
func (p *Proxy) splice(ctx context.Context, conn net.Conn, a egress.Authority, v egress.Verdict) {
	e := Event{
		Kind: audit.KindConnect, Authority: a, Rule: v.Index, Nearest: -1, Binding: -1,
		Decision: audit.Allow, Code: audit.CodeAllowed,
	}
	if p.frozen.Load() {
		p.note(destination(conn), a, audit.CodeFrozen)
		return
	}
	id, err := p.cfg.Audit.Open(ctx, e)
	if err != nil {
		return
	}
	began := time.Now()
	e.Kind = audit.KindDone
	up, err := p.cfg.Dial.dial(ctx, a, v.AllowPrivate)
	if err != nil {
		e.Decision = audit.Deny
		e.Code, _ = classify(err)
	} else {
		e.BytesOut, e.BytesIn = p.join(conn, up)
	}
	e.Millis = millis(began)
	p.cfg.Audit.Done(id, e)
}

// join copies both ways until both directions have ended, and counts.
func (p *Proxy) join(conn, up net.Conn) (out, in uint64) {
	stop := context.AfterFunc(p.thawed, func() { up.Close() })
	defer stop()
	defer up.Close()
	var both sync.WaitGroup
	both.Go(func() {
		defer func() {
			if recover() != nil {
				up.Close()
			}
		}()
		out = carry(up, conn)
	})
	in = carry(conn, up)
	both.Wait()
	return out, in
}

// carry copies one direction and ends it at the other side. When it fails both
// connections are of no more use.
func carry(to, from net.Conn) uint64 {
	n, err := io.Copy(to, from)
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
