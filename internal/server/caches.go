package server

import (
	"errors"
	"io/fs"
	"net/http"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/daemon"
)

func (s *Server) caches(w http.ResponseWriter, _ *http.Request, c *caller) *api.Error {
	list, err := s.cfg.Manager.View(c.UID()).Caches()
	if err != nil {
		return api.Refuse(http.StatusInternalServerError, "cache", "%v", err)
	}
	return reply(w, list)
}

func (s *Server) cache(w http.ResponseWriter, r *http.Request, c *caller) *api.Error {
	one, ok := s.cfg.Manager.View(c.UID()).Cache(r.PathValue("id"))
	if !ok {
		return api.NotFound()
	}
	return reply(w, one)
}

func (s *Server) removeCache(w http.ResponseWriter, r *http.Request, c *caller) *api.Error {
	id := r.PathValue("id")
	err := s.cfg.Manager.View(c.UID()).RemoveCache(id)
	switch {
	case errors.Is(err, daemon.ErrCacheInUse):
		return api.Refuse(http.StatusConflict, "cache_in_use", "cache %s: %v", id, err).Hint("omnijailctl ls shows your jails")
	case errors.Is(err, fs.ErrNotExist):
		return api.NotFound()
	case err != nil:
		return api.Refuse(http.StatusInternalServerError, "cache", "cache %s: %v", id, err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) removeCaches(w http.ResponseWriter, _ *http.Request, c *caller) *api.Error {
	done, err := s.cfg.Manager.View(c.UID()).RemoveCaches()
	if err != nil {
		return api.Refuse(http.StatusInternalServerError, "cache", "%v", err)
	}
	return reply(w, done)
}
