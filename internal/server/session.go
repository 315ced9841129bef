package server

import (
	"maps"
	"net/http"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/daemon"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/policy"
)

// create makes a jail that takes commands until it is ended. Without Upgrade, and
// so without secrets, the answer is the jail.
func (s *Server) create(w http.ResponseWriter, r *http.Request, c *caller) *api.Error {
	var req api.ExecRequest
	if err := decode(r, &req); err != nil {
		return err
	}
	if len(req.SecretFDs) > 0 && !upgrades(r) {
		return needsUpgrade()
	}
	plan, refused := s.plan(&req, c, s.cfg.Manager.Facts(), true)
	if refused != nil {
		return refused
	}
	ticket, refused := s.cfg.Manager.Admit(plan)
	if refused != nil {
		return refused
	}
	kept := false
	defer func() {
		if !kept {
			ticket.Release()
		}
	}()
	if !upgrades(r) {
		made, exit := s.cfg.Manager.Create(ticket, nil)
		if kept = exit.Code == 0; !kept {
			return api.Refuse(http.StatusUnprocessableEntity, "not_made", "%s", exit.Reason).Hint("%s", exit.Fix)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		return reply(w, made)
	}
	return upgrade(w, c, func() {
		_, exit := s.cfg.Manager.Create(ticket, c.conn)
		kept = exit.Code == 0
	})
}

// execIn runs one more command in a jail that is there already.
func (s *Server) execIn(w http.ResponseWriter, r *http.Request, c *caller) *api.Error {
	id, err := jail.ParseID(r.PathValue("id"))
	if err != nil {
		return api.NotFound()
	}
	visit, refused := s.view(c).Enter(id)
	if refused != nil {
		return refused
	}
	defer visit.Leave()
	var req api.CommandRequest
	if err := decode(r, &req); err != nil {
		return err
	}
	switch {
	case req.Detach && upgrades(r):
		return api.Refuse(http.StatusBadRequest, "upgrade", "a detached command has no connection: ask without Upgrade")
	case !req.Detach && !upgrades(r):
		return needsUpgrade()
	}
	plan, refused := command(&req, visit.Made(), c)
	if refused != nil {
		return refused
	}
	if req.Detach {
		return detach(w, visit, plan)
	}
	return upgrade(w, c, func() { visit.Run(plan, c.conn) })
}

// detach starts a command that outlives its client, and answers with its name.
func detach(w http.ResponseWriter, visit *daemon.Visit, plan *daemon.Plan) *api.Error {
	started, exit, refused := visit.Detach(plan)
	if refused != nil {
		return refused
	}
	if exit.Code != 0 {
		return api.Refuse(http.StatusUnprocessableEntity, "not_started", "%s", exit.Reason).Hint("%s", exit.Fix)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	return reply(w, started)
}

// command decides what a request for one more command may have of the jail that
// made stands for.
func command(req *api.CommandRequest, made *daemon.Plan, c *caller) (*daemon.Plan, *api.Error) {
	whole := &api.ExecRequest{
		Argv: req.Argv, ArgvB64: req.ArgvB64, Cwd: req.Cwd, CwdB64: req.CwdB64, Env: req.Env, Context: req.Context, Timeout: req.Timeout,
	}
	argv, cwd, refused := words(whole, false)
	if refused == nil {
		refused = tooMuch(whole, argv)
	}
	if refused == nil {
		refused = mayEnter(made, c)
	}
	if refused != nil {
		return nil, refused
	}
	l, refused := limits(whole)
	if refused != nil {
		return nil, refused
	}
	spec, err := policy.With(made.Spec, policy.Command{
		Argv: texts(argv), Cwd: cwd, Env: req.Env, TTY: req.TTY != nil, Timeout: l.Timeout,
	})
	if err != nil {
		return nil, policyRefusal(err)
	}
	context := maps.Clone(made.Context)
	if context == nil {
		context = map[string]string{}
	}
	maps.Copy(context, req.Context)
	plan := *made // what the caller's access gave the jail, too
	plan.Caller, plan.Confined, plan.Spec, plan.Argv, plan.Cwd = c.Caller, c.confined, spec, argv, spec.View.Cwd
	plan.Context, plan.SecretFDs, plan.TTY = context, nil, req.TTY
	return &plan, nil
}

// mayEnter holds what the jail has against who wants to act in it.
func mayEnter(made *daemon.Plan, c *caller) *api.Error {
	if !c.access.MayUse(made.Spec.Policy.Name, made.Spec.Policy.Own) {
		return api.Refuse(http.StatusForbidden, "policy_access", "your access does not include policy %q", made.Spec.Policy.Name)
	}
	if refused := granted(made.Spec, c); refused != nil {
		return refused
	}
	return holdsGroups(made, c)
}

// holdsGroups refuses a caller whose process does not hold the groups that the jail
// has: one that has given up a group must not get it back from an earlier jail.
func holdsGroups(made *daemon.Plan, c *caller) *api.Error {
	if c.UID() == 0 {
		return nil
	}
	held := append([]uint32{c.GID()}, c.Groups()...)
	user := made.Spec.OCI.Process.User
	for _, gid := range append([]uint32{user.GID}, user.AdditionalGids...) {
		if !slices.Contains(held, gid) {
			return api.Refuse(http.StatusForbidden, "groups", "the jail has group %d, which this process does not hold", gid)
		}
	}
	return nil
}

// signal sends a signal to all commands of a jail.
func (s *Server) signal(w http.ResponseWriter, r *http.Request, c *caller) *api.Error {
	id, err := jail.ParseID(r.PathValue("id"))
	if err != nil {
		return api.NotFound()
	}
	if _, ok := s.view(c).Jail(id); !ok {
		return api.NotFound()
	}
	var req api.Signal
	if err := decode(r, &req); err != nil {
		return err
	}
	if req.Signal < 1 || req.Signal > 64 {
		return api.Refuse(http.StatusBadRequest, "signal", "%d is no signal", req.Signal)
	}
	if refused := s.view(c).Signal(id, unix.Signal(req.Signal)); refused != nil {
		return refused
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
