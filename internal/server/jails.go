package server

import (
	"net/http"
	"time"

	"github.com/omnijail/omnijail/api"
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

func (s *Server) jails(w http.ResponseWriter, _ *http.Request, c *caller) *api.Error {
	return reply(w, s.cfg.Manager.View(c.UID()).Jails())
}

func (s *Server) jail(w http.ResponseWriter, r *http.Request, c *caller) *api.Error {
	id, err := jail.ParseID(r.PathValue("id"))
	if err != nil {
		return api.NotFound()
	}
	j, ok := s.cfg.Manager.View(c.UID()).Jail(id)
	if !ok {
		return api.NotFound()
	}
	return reply(w, j)
}

func (s *Server) endJail(w http.ResponseWriter, r *http.Request, c *caller) *api.Error {
	id, err := jail.ParseID(r.PathValue("id"))
	if err != nil || !s.cfg.Manager.View(c.UID()).End(id) {
		return api.NotFound()
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
