package server

import (
	"maps"
	"net/http"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/daemon"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/policy"
)

// changePolicy gives a live jail another policy, or says what that would change.
func (s *Server) changePolicy(w http.ResponseWriter, r *http.Request, c *caller) *api.Error {
	asked, refused := s.change(r, c)
	if refused != nil {
		return refused
	}
	defer asked.Done()
	was, is := asked.Made().Spec, asked.plan.Spec
	generation := asked.Generation()
	if !asked.DryRun {
		if len(asked.SecretFDs) > 0 {
			return needsUpgrade()
		}
		c.endTurn() // a credential may ask a person
		if refused := asked.Apply(asked.plan, c.UID()); refused != nil {
			return refused
		}
	}
	d := policy.Differ(was, is)
	return reply(w, api.PolicyChanged{
		Jail: asked.id.String(), Policy: is.Policy.Name, Origin: is.Policy.Origin,
		From: was.Policy.Digest, Digest: is.Policy.Digest, Generation: generation, Applied: !asked.DryRun,
		AllowsMore: d.AllowsMore, AllowsLess: d.AllowsLess, Binds: d.Binds, Unbinds: d.Unbinds, BindsOtherwise: d.BindsOtherwise, Settings: d.Settings,
	})
}

// changePolicyWith gives a live jail another policy with the values of its env
// sources, which follow the 101.
func (s *Server) changePolicyWith(w http.ResponseWriter, r *http.Request, c *caller) *api.Error {
	asked, refused := s.change(r, c)
	if refused != nil {
		return refused
	}
	defer asked.Done()
	switch {
	case !upgrades(r): // after whose jail it is: nobody else hears that there is one
		return needsUpgrade()
	case asked.DryRun:
		return api.Refuse(http.StatusBadRequest, "dry_run", "nothing is handed over for a question")
	case c.UID() != asked.Made().Caller.UID():
		return api.Refuse(http.StatusForbidden, "secrets", "only the owner of jail %s hands over values for it", asked.id)
	}
	return upgrade(w, c, func() { asked.ApplyWith(asked.plan, c.UID(), c.conn) })
}

// change is a request for another policy that may be put in force.
type change struct {
	*daemon.Change
	api.PolicyChange
	id   jail.ID
	plan *daemon.Plan
}

// change decides on a request for another policy. Whoever gets one gives its right
// back.
func (s *Server) change(r *http.Request, c *caller) (_ *change, refused *api.Error) {
	id, err := jail.ParseID(r.PathValue("id"))
	if err != nil {
		return nil, api.NotFound()
	}
	asked := &change{id: id}
	if asked.Change, refused = s.view(c).Change(id); refused != nil {
		return nil, refused
	}
	defer func() {
		if refused != nil {
			asked.Done()
		}
	}()
	if refused := decode(r, &asked.PolicyChange); refused != nil {
		return nil, refused
	}
	made := asked.Made()
	if asked.From != "" && asked.From != made.Spec.Policy.Digest {
		return nil, api.Refuse(http.StatusConflict, "changed_meanwhile", "the policy of jail %s is another by now", id).
			Hint("look at it again: omnijailctl inspect %s", id)
	}
	asked.plan, refused = s.replacement(&asked.PolicyChange, made, c)
	return asked, refused
}

// replacement decides which plan may take the place of the one in force.
func (s *Server) replacement(req *api.PolicyChange, made *daemon.Plan, c *caller) (*daemon.Plan, *api.Error) {
	if refused := mayEnter(made, c); refused != nil {
		return nil, refused
	}
	if len(req.Policy) == 0 || string(req.Policy) == "null" {
		return nil, api.Refuse(http.StatusBadRequest, "policy", "policy is missing")
	}
	doc, own, refused := s.document(req.Policy, c)
	if refused == nil {
		refused = mayReplace(made, doc, own, c)
	}
	if refused != nil {
		return nil, refused
	}
	request := made.Request
	request.Own, request.SecretFDs = c.access.MayUse("", true), req.SecretFDs
	spec, err := policy.Replace(made.Spec, made.Document, doc, request, s.cfg.Manager.Facts())
	if err != nil {
		return nil, policyRefusal(err)
	}
	if refused := granted(spec, c); refused != nil {
		return nil, refused
	}
	plan := *made
	plan.Epoch, plan.Document, plan.Spec, plan.SecretFDs = c.epoch, doc, spec, req.SecretFDs
	if c.UID() == made.Caller.UID() { // root's environment is nothing for a command of somebody else's
		plan.Context = map[string]string{}
		maps.Copy(plan.Context, made.Context)
		maps.Copy(plan.Context, req.Context)
	}
	return &plan, nil
}

// mayReplace holds who asks against the owner of the policy in force: the operator's
// is replaced by its own newer self or by root, and comes only into a jail that was
// made with one, whose secrets are kept apart.
func mayReplace(made *daemon.Plan, doc *policy.Document, own bool, c *caller) *api.Error {
	ref := made.Spec.Policy
	itself := !own && !ref.Own && doc.Ref.Name == ref.Name
	switch {
	case made.Spec.Closed != nil && c.UID() != 0 && !itself:
		return api.Refuse(http.StatusForbidden, "policy_closed", "policy %q is the operator's: only root may give this jail another", ref.Name).
			Hint("a jail of its own: omnijailctl create --policy FILE")
	case made.Spec.Closed == nil && doc.Closed:
		return api.Refuse(http.StatusConflict, "policy_closed", "policy %q is the operator's, and this jail was made with one that is not", doc.Ref.Name).
			Hint("a jail of its own: omnijailctl create --policy %s", doc.Ref.Name)
	}
	return nil
}
