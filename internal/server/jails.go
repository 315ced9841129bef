package server

import (
	"net/http"
	"time"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/daemon"
	"github.com/omnijail/omnijail/internal/jail"
)

func (s *Server) version(w http.ResponseWriter, _ *http.Request, _ *caller) *api.Error {
	return reply(w, api.Version{Version: api.BuildVersion, API: []int{1}})
}

func (s *Server) healthz(w http.ResponseWriter, _ *http.Request, _ *caller) *api.Error {
	return reply(w, map[string]string{"status": "ok"})
}

func (s *Server) doctor(w http.ResponseWriter, _ *http.Request, _ *caller) *api.Error {
	return reply(w, s.cfg.Manager.Doctor())
}

// view is the table of jails as a caller sees it: its own, and where the caller is
// confined only those whose policy it may use itself.
func (s *Server) view(c *caller) daemon.View {
	v := s.cfg.Manager.View(c.UID())
	if !c.confined {
		return v
	}
	return v.Only(func(spec *jail.Spec) bool { return c.access.MayUse(spec.Policy.Name, spec.Policy.Own) })
}

func (s *Server) jails(w http.ResponseWriter, _ *http.Request, c *caller) *api.Error {
	return reply(w, s.view(c).Jails())
}

func (s *Server) jail(w http.ResponseWriter, r *http.Request, c *caller) *api.Error {
	id, err := jail.ParseID(r.PathValue("id"))
	if err != nil {
		return api.NotFound()
	}
	j, ok := s.view(c).Jail(id)
	if !ok {
		return api.NotFound()
	}
	return reply(w, j)
}

// endWait bounds how long a caller waits for what a jail leaves: a process that is
// stuck in the kernel is left to the sweep.
const endWait = 10 * time.Second

// endJail answers when the jail is gone, so that its ports can be used again at
// once.
func (s *Server) endJail(w http.ResponseWriter, r *http.Request, c *caller) *api.Error {
	id, err := jail.ParseID(r.PathValue("id"))
	if err != nil {
		return api.NotFound()
	}
	gone, ok := s.view(c).End(id)
	if !ok {
		return api.NotFound()
	}
	c.endTurn()
	late := time.NewTimer(endWait)
	defer late.Stop()
	select {
	case <-gone:
	case <-late.C:
	case <-r.Context().Done():
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) drain(w http.ResponseWriter, r *http.Request, c *caller) *api.Error {
	if c.UID() != 0 {
		return api.Refuse(http.StatusForbidden, "root_only", "only root may drain the node").Hint("sudo omnijailctl drain")
	}
	var req api.Drain
	if err := decode(r, &req); err != nil {
		return err
	}
	var timeout time.Duration
	if req.Timeout != "" {
		d, err := time.ParseDuration(req.Timeout)
		if err != nil || d < 0 {
			return api.Refuse(http.StatusBadRequest, "timeout", "%q is not a duration such as 90s", req.Timeout)
		}
		timeout = d
	}
	c.endTurn()
	if left := s.cfg.Manager.Drain(r.Context(), timeout); left > 0 {
		return api.Refuse(http.StatusServiceUnavailable, "draining", "%d jails still run; new ones are refused", left)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
