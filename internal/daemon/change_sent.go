package daemon

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/caller"
	"github.com/omnijail/omnijail/internal/jail"
)

// ApplyWith is Apply for a client that sends the values of p.SecretFDs on its
// connection, and is told there how it went.
func (c *Change) ApplyWith(p *Plan, by uint32, conn *net.UnixConn) {
	told := newEvents(conn)
	refused := c.applyWith(p, by, conn)
	if refused == nil {
		told.finish(api.Exit{})
		return
	}
	told.finish(api.Exit{Code: 125, Reason: refused.Reason, Fix: refused.Fix})
}

func (c *Change) applyWith(p *Plan, by uint32, conn *net.UnixConn) *api.Error {
	ready, err := c.m.takeScout()
	if err != nil {
		return api.Refuse(http.StatusInternalServerError, "secrets", "no scout: %v", err)
	}
	defer ready.Close()
	sent, err := c.receive(ready, p, conn)
	var open *jail.OpenError
	switch {
	case errors.As(err, &open):
		return api.Refuse(http.StatusUnprocessableEntity, open.Code, "%s", audit.Escape(open.Reason)).Hint("%s", audit.Escape(open.Fix))
	case err != nil:
		return api.Refuse(http.StatusInternalServerError, "secrets", "the values were not received: %v", err)
	}
	defer sent.Close()
	values := map[string]*os.File{}
	for i, name := range p.SecretFDs {
		values[name] = sent.Secrets[i]
	}
	c.j.sources.give(values)
	defer c.j.sources.forget() // each has reached the egress process by then: it is sent once
	return c.Apply(p, by)
}

// receive has a scout take the client's descriptors, as it does for an exec: what
// a user sends is not for root to hold before somebody has looked.
func (c *Change) receive(ready *scout, p *Plan, conn *net.UnixConn) (*caller.Opened, error) {
	file, err := conn.File()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	ctx, cancel := context.WithCancel(c.j.ctx)
	defer cancel()
	return caller.Open(ctx, caller.Options{
		Child: caller.Child{Init: c.m.cfg.Init, Caller: p.Caller, Group: ready.group}, Scout: ready.Scout, Conn: file,
		Listeners: []string{c.m.cfg.Settings().Socket},
		// A view of nothing: it is asked for no file of the caller's.
		Request: jail.OpenRequest{User: p.User, View: jail.View{Cwd: "/"}, SystemDirs: []string{"/"}, Stdio: true, SecretFDs: p.SecretFDs},
	})
}
