package daemon

import (
	"context"
	"fmt"
	"os"

	"github.com/omnijail/omnijail/internal/caller"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/seqpacket"
)

// portTable is which ports of the node's loopback jails have. A port that is
// published is reached from no jail, whichever came first: it would lead from one
// user's jail into another's.
type portTable struct {
	published map[uint16]bool
	reached   map[uint16]int
}

// claim enters a jail's ports, all or none. The table is locked.
func (t *portTable) claim(spec *jail.Spec) error {
	refuse := func(format string, args ...any) error {
		return &jail.OpenError{Code: "port", Exit: 125, Reason: fmt.Sprintf(format, args...), Fix: "another port"}
	}
	for _, p := range spec.Publish {
		switch {
		case t.published[p]:
			return refuse("port %d of the node cannot be published: a jail has it published already", p)
		case t.reached[p] > 0:
			return refuse("port %d of the node cannot be published: a jail reaches it as a port of the node", p)
		}
	}
	for _, p := range spec.NodePorts {
		if t.published[p] {
			return refuse("port %d cannot be reached: it is a jail's, published, and none of the node's own", p)
		}
	}
	if t.published == nil {
		t.published, t.reached = map[uint16]bool{}, map[uint16]int{}
	}
	for _, p := range spec.Publish {
		t.published[p] = true
	}
	for _, p := range spec.NodePorts {
		t.reached[p]++
	}
	return nil
}

func (t *portTable) drop(spec *jail.Spec) {
	for _, p := range spec.Publish {
		delete(t.published, p)
	}
	for _, p := range spec.NodePorts {
		if t.reached[p]--; t.reached[p] <= 0 {
			delete(t.reached, p)
		}
	}
}

// gate joins the jail's ports and the node's, where the policy has some. What it
// carries passes through a process that is the caller, never through this one.
func (x *execution) gate(ctx context.Context) error {
	m, spec, env := x.m, x.j.spec(), &x.j.env
	if len(spec.Publish)+len(spec.NodePorts) == 0 {
		return nil
	}
	m.mu.Lock()
	err := m.ports.claim(spec)
	m.mu.Unlock()
	if err != nil {
		return err
	}
	env.undo.Add(func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.ports.drop(spec)
		return nil
	})
	var listeners []*os.File
	defer func() { seqpacket.CloseAll(listeners) }()
	for _, p := range spec.NodePorts {
		l, err := env.net.Listen(p)
		if err != nil {
			return err
		}
		listeners = append(listeners, l)
	}
	ready, err := m.takeScout()
	if err != nil {
		return err
	}
	env.undo.Add(ready.Close)
	return caller.StartGate(ctx, caller.GateOptions{
		Child: caller.Child{Init: m.cfg.Init, Caller: x.j.caller, Group: ready.group}, Scout: ready.Scout, User: x.plan.User,
		Publish: spec.Publish, NodePorts: spec.NodePorts, Listeners: listeners, Socket: env.net.Socket,
	})
}
