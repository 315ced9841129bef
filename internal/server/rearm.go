package server

import (
	"net/http"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/jail"
)

// rearm gives a session that has lost its network another one.
func (s *Server) rearm(w http.ResponseWriter, r *http.Request, c *caller) *api.Error {
	id, err := jail.ParseID(r.PathValue("id"))
	if err != nil {
		return api.NotFound()
	}
	right, refused := s.view(c).Rearm(id)
	if refused != nil {
		return refused
	}
	defer right.Done()
	if refused := mayEnter(right.Made(), c); refused != nil {
		return refused
	}
	c.endTurn() // a credential may ask a person
	if refused := right.Run(r.Context(), c.UID()); refused != nil {
		return refused
	}
	return s.jail(w, r, c)
}
