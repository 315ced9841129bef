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
	id, err := jail.ParseID(r.PathValue("id"))
	if err != nil {
		return api.NotFound()
	}
	change, refused := s.view(c).Change(id)
	if refused != nil {
		return refused
	}
	defer change.Done()
	var req api.PolicyChange
	if err := decode(r, &req); err != nil {
		return err
	}
	made := change.Made()
	was := made.Spec
	if req.From != "" && req.From != was.Policy.Digest {
		return api.Refuse(http.StatusConflict, "changed_meanwhile", "the policy of jail %s is another by now", id).
			Hint("look at it again: omnijailctl inspect %s", id)
	}
	plan, refused := s.replacement(&req, made, c)
	if refused != nil {
		return refused
	}
	generation := change.Generation()
	if !req.DryRun {
		c.endTurn() // a credential may ask a person
		if refused := change.Apply(plan, c.UID()); refused != nil {
			return refused
		}
	}
	d := policy.Differ(was, plan.Spec)
	return reply(w, api.PolicyChanged{
		Jail: id.String(), Policy: plan.Spec.Policy.Name, Origin: plan.Spec.Policy.Origin,
		From: was.Policy.Digest, Digest: plan.Spec.Policy.Digest, Generation: generation, Applied: !req.DryRun,
		AllowsMore: d.AllowsMore, AllowsLess: d.AllowsLess, Binds: d.Binds, Unbinds: d.Unbinds, BindsOtherwise: d.BindsOtherwise, Settings: d.Settings,
	})
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
	request.Own = c.access.MayUse("", true)
	spec, err := policy.Replace(made.Spec, made.Document, doc, request, s.cfg.Manager.Facts())
	if err != nil {
		return nil, policyRefusal(err)
	}
	if refused := granted(spec, c); refused != nil {
		return nil, refused
	}
	plan := *made
	plan.Epoch, plan.Document, plan.Spec = c.epoch, doc, spec
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
