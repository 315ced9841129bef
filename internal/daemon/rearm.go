package daemon

import (
	"context"
	"fmt"
	"net/http"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/cleanup"
	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/internal/jail"
)

// Rearm is the right to give a session another network in place of the one that it
// has lost. One has it at a time, and it must be given back.
type Rearm struct{ Change }

// Rearm takes the right, or refuses it.
func (v View) Rearm(id jail.ID) (*Rearm, *api.Error) {
	j := v.find(id)
	if j == nil {
		return nil, api.NotFound()
	}
	if !j.changing.TryLock() {
		return nil, api.Refuse(http.StatusConflict, "changing", "somebody else is changing jail %s", id)
	}
	if refused := j.unarmed(); refused != nil {
		j.changing.Unlock()
		return nil, refused
	}
	return &Rearm{Change{m: v.m, j: j}}, nil
}

// unarmed keeps the jail from being undone if it is a session without a network.
func (j *liveJail) unarmed() *api.Error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.over || j.ctx.Err() != nil:
		return api.NotFound()
	case !j.session || !j.made:
		return api.Refuse(http.StatusConflict, "not_a_session", "jail %s is no session that has been made", j.id)
	case j.cutText == "":
		return api.Refuse(http.StatusConflict, "not_degraded", "jail %s has its network", j.id)
	}
	j.inside.Add(1)
	return nil
}

// Run makes the network, for uid: a new namespace with new sockets, which nothing of
// the jail's has touched, a new CA and new placeholders. Commands that run keep the
// one that they have, which leads nowhere.
func (r *Rearm) Run(ctx context.Context, by uint32) *api.Error {
	j, former := r.j, r.j.policy.Load()
	if refused := rearmable(former.plan.Spec); refused != nil {
		return refused
	}
	next, err := j.anew(former)
	if err != nil {
		return api.Refuse(http.StatusConflict, "too_many_values", "%v", err)
	}
	if err := r.record(next.plan, by, audit.Allow, fmt.Sprintf("another network, by uid %d", by)); err != nil {
		return api.Refuse(http.StatusServiceUnavailable, string(audit.CodeAudit), "it could not be recorded, so it was not done: %v", err)
	}
	j.proc.Load().detach(j.id) // which may live, and have lost the jail alone
	j.admit(next)
	var undo cleanup.Stack
	var net *wayOut
	another, err := r.m.network(&undo)
	if err == nil {
		net, err = r.m.wayOut(ctx, j, next, another, &undo)
	}
	if err == nil {
		err = r.catchUp(net, next)
	}
	if err == nil {
		next.placeholders, err = net.answer.Placeholders(next.plan.Spec.Bindings)
	}
	if err != nil {
		r.m.cfg.Log.Error("jail: no other network", "jail", j.id, "err", err)
		undo.Run()
		return api.Refuse(http.StatusInternalServerError, "not_rearmed", "the jail has no other network: %v", err)
	}
	j.rearm(net, next)
	j.env.undo.Add(undo.Run)
	r.retire(former, next)
	j.audience.note("this jail has a network again, for commands that start from now on", "")
	return r.resolve(next, next.secrets, net.answer.Cached)
}

// rearmable refuses what another network cannot have.
func rearmable(spec *jail.Spec) *api.Error {
	const fix = "omnijailctl rm ID, then omnijailctl create"
	if len(spec.Publish)+len(spec.NodePorts) > 0 {
		return api.Refuse(http.StatusUnprocessableEntity, "ports", "the jail's ports lead to the network that it has lost").Hint(fix)
	}
	for _, b := range spec.Bindings {
		if !b.Optional && onlyEnv(b) {
			return api.Refuse(http.StatusUnprocessableEntity, "credential",
				"credential %q took its value from a variable of the client that made the jail, and nobody has kept it", b.Name).Hint(fix)
		}
	}
	return nil
}

// catchUp gives the policy in the egress process the number that it has here: the
// jail may have had others before.
func (r *Rearm) catchUp(n *wayOut, next *inForce) error {
	set := r.m.cfg.Settings()
	r.j.under.Store(set)
	file, err := wire.Seal("egress-spec", toldOf(set, next))
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = n.proc.ask(r.j.ctx, func(seq uint32) wire.Message {
		return wire.Replace{Seq: seq, Jail: r.j.id.String(), Generation: next.generation, Spec: file}
	})
	return err
}

// anew is the policy in force with no value in hand: they were the egress process's.
func (j *liveJail) anew(former *inForce) (*inForce, error) {
	n := &inForce{generation: former.generation + 1, plan: former.plan}
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, b := range former.plan.Spec.Bindings {
		number := len(j.secrets) + i
		if number >= wire.MaxNumbers {
			return nil, errTooManyValues
		}
		n.secrets = append(n.secrets, &secret{number: uint16(number), binding: b, plan: former.secrets[i].plan})
	}
	return n, nil
}

// rearm puts another network in the place of the lost one, while no command is being
// started.
func (j *liveJail) rearm(n *wayOut, next *inForce) {
	j.arming.Lock()
	defer j.arming.Unlock()
	former := j.env.wayOut
	j.env.wayOut = *n
	j.proc.Store(n.proc)
	j.policy.Store(next)
	j.sources.forget()
	j.mu.Lock()
	j.cutBy, j.cutText = "", ""
	j.mu.Unlock()
	former.net.Close() // those that are in it have nothing to connect to
}
