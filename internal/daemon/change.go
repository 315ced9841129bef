package daemon

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/internal/fence"
	"github.com/omnijail/omnijail/internal/jail"
)

// Change is the right to give a live jail another policy, which one has at a time.
// It must be given back.
type Change struct {
	m *Manager
	j *liveJail
}

// Change takes the right to change the policy of jail id, or refuses it.
func (v View) Change(id jail.ID) (*Change, *api.Error) {
	j := v.find(id)
	if j == nil {
		return nil, api.NotFound()
	}
	if !j.changing.TryLock() {
		return nil, api.Refuse(http.StatusConflict, "changing", "somebody else is changing the policy of jail %s", id)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	var refused *api.Error
	switch {
	case j.over || j.ctx.Err() != nil:
		refused = api.NotFound()
	case !j.ready:
		refused = api.Refuse(http.StatusConflict, "not_ready", "jail %s is still being made", id)
	case j.cutText != "":
		refused = api.Refuse(http.StatusConflict, "degraded", "jail %s has no network any more: %s", id, j.cutText).Hint("%s", degradedHint)
	}
	if refused != nil {
		j.changing.Unlock()
		return nil, refused
	}
	j.inside.Add(1)
	return &Change{m: v.m, j: j}, nil
}

// Made is the plan in force.
func (c *Change) Made() *Plan { return c.j.plan() }

// Generation counts the changes up to the one to come.
func (c *Change) Generation() uint32 { return c.j.policy.Load().generation + 1 }

// Done gives the right back.
func (c *Change) Done() {
	c.j.inside.Done()
	c.j.changing.Unlock()
}

// Apply puts p in force for uid by: the record first, then the egress process,
// which changes from one policy to the other as a whole, then the values of
// credentials that are new. What commands are told with a later start follows.
func (c *Change) Apply(p *Plan, by uint32) *api.Error {
	j, former := c.j, c.j.policy.Load()
	if refused := c.lacksPort(p.Spec); refused != nil {
		return refused
	}
	next, err := j.next(p)
	if err != nil {
		return api.Refuse(http.StatusConflict, "too_many_values", "%v", err)
	}
	for _, s := range next.fresh(former) {
		if !s.binding.Optional && onlyEnv(s.binding) && !sent(p, s.binding) {
			return api.Refuse(http.StatusUnprocessableEntity, "credential",
				"credential %q takes its value from a variable, and the client handed none over", s.binding.Name).
				Hint("set it where omnijailctl policy apply runs, as the jail's owner")
		}
	}
	if err := c.record(p, by, audit.Allow, fmt.Sprintf("policy changed by uid %d", by)); err != nil {
		return api.Refuse(http.StatusServiceUnavailable, string(audit.CodeAudit), "the change could not be recorded, so it was not made: %v", err)
	}
	j.admit(next)
	answer, err := c.replace(next)
	if err == nil {
		next.placeholders, err = answer.Placeholders(p.Spec.Bindings)
		if err != nil {
			j.proc.Load().end(err)
		}
	}
	if err != nil {
		c.m.cfg.Log.Error("policy not changed", "jail", j.id, "err", err)
		if err := c.record(p, by, audit.Deny, "the policy was not changed: the egress process refused it"); err != nil {
			c.m.cfg.Log.Error("audit: refusal not recorded", "err", err)
		}
		return api.Refuse(http.StatusInternalServerError, "not_changed", "the policy was not changed: %v", err)
	}
	j.policy.Store(next)
	c.retire(former, next)
	c.m.mu.Lock()
	revoked := c.m.revoked(p.Epoch, j)
	c.m.mu.Unlock()
	if revoked != "" {
		j.end(revoked)
	}
	j.audience.note(fmt.Sprintf("the policy of this jail is now %q", p.Spec.Policy.Name), "")
	return c.resolve(next, next.fresh(former), answer.Cached)
}

// lacksPort refuses a policy that would take connections for which a live jail has
// no listener: by now, the port may be a server's of its own.
func (c *Change) lacksPort(spec *jail.Spec) *api.Error {
	o, err := opening(c.j.env.net.Interception(), spec)
	if err != nil {
		return api.Refuse(http.StatusUnprocessableEntity, "unsupported", "%v", err)
	}
	if p, lacks := moreThan(c.j.env.opened, o); lacks {
		return api.Refuse(http.StatusUnprocessableEntity, "port",
			"port %d was named by no rule when this jail was made, and this node's kernel has no sk_lookup to take connections to it now", p).
			Hint("a new jail")
	}
	return nil
}

// replace tells the egress process, whose wall is open for both policies meanwhile.
func (c *Change) replace(next *inForce) (wire.Answer, error) {
	j, set := c.j, c.m.cfg.Settings()
	told := toldOf(set, next)
	file, err := wire.Seal("egress-spec", told)
	if err != nil {
		return wire.Answer{}, err
	}
	defer file.Close()
	was, is := openings(set, toldOf(set, j.policy.Load())), openings(set, told)
	both := fence.Exceptions{
		Pins: slices.Concat(was.Pins, is.Pins), Private: slices.Concat(was.Private, is.Private), All: was.All || is.All,
	}
	id := j.id.String()
	if err := j.proc.Load().wall.Admit(id, both); err != nil {
		return wire.Answer{}, err
	}
	answer, err := j.proc.Load().ask(j.ctx, func(seq uint32) wire.Message {
		return wire.Replace{Seq: seq, Jail: id, Generation: next.generation, Spec: file}
	})
	left := is
	if err != nil {
		left = was
	} else {
		j.under.Store(set)
	}
	if err := j.proc.Load().wall.Admit(id, left); err != nil {
		c.m.cfg.Log.Error("fence: openings of a former policy stay", "jail", id, "err", err)
	}
	return answer, err
}

// retire leaves the values that next does not have to nobody.
func (c *Change) retire(former, next *inForce) {
	for _, s := range former.secrets {
		if !slices.Contains(next.secrets, s) {
			s.mu.Lock()
			s.gone = true
			s.mu.Unlock()
		}
	}
}

// resolve has the values come. The policy is in force by then: what needs a value
// that is not there is refused.
func (c *Change) resolve(next *inForce, fresh []*secret, cached []uint16) *api.Error {
	dropped, err := c.j.sources.start(c.j.ctx, fresh, cached)
	c.j.drop(next, dropped)
	if err != nil {
		return api.Refuse(http.StatusUnprocessableEntity, "credential", "the policy is in force, but not all of its credentials have a value: %v", err)
	}
	return nil
}

func (c *Change) record(p *Plan, by uint32, d audit.Decision, reason string) error {
	_, err := c.m.auditor.own(audit.Record{
		Kind: audit.KindPolicy, Jail: c.j.id.String(), UID: c.j.owner, Policy: p.Spec.Policy.Name, Origin: p.Spec.Policy.Origin,
		Generation: c.Generation(), Digest: p.Spec.Policy.Digest, Decision: d, Reason: reason,
	})
	return err
}

// sent reports whether the client handed a value over for a binding.
func sent(p *Plan, b creds.Binding) bool {
	return slices.ContainsFunc(b.Sources, func(s creds.Source) bool { return s.Kind == creds.SourceEnv && slices.Contains(p.SecretFDs, s.Env) })
}

// onlyEnv reports whether nothing but a client can give a binding's value.
func onlyEnv(b creds.Binding) bool {
	return !slices.ContainsFunc(b.Sources, func(s creds.Source) bool { return s.Kind != creds.SourceEnv })
}
