package server

import (
	"net/http"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/suggest"
)

// suggestionRecords is how many of a jail's newest records a suggestion is made of.
const suggestionRecords = 4000

// suggestion says what the policy of a jail would have to allow. The jail may have
// ended: the caller's own part of the journal is what is asked.
func (s *Server) suggestion(w http.ResponseWriter, r *http.Request, c *caller) *api.Error {
	id, err := jail.ParseID(r.PathValue("id"))
	if err != nil {
		return api.NotFound()
	}
	recs, err := s.cfg.Manager.Journal().Query(audit.Filter{UID: c.UID(), All: c.UID() == 0, Jail: id.String(), Limit: suggestionRecords})
	if err != nil {
		return api.Refuse(http.StatusInternalServerError, "audit", "read the journal: %v", err)
	}
	if len(recs) == 0 {
		return api.NotFound()
	}
	found := suggest.From(recs)
	text, err := found.YAML()
	if err != nil {
		return api.Refuse(http.StatusInternalServerError, "suggestion", "%v", err)
	}
	out := api.Suggestion{
		Jail: id.String(), Policy: recs[0].Policy, YAML: text, Rules: found.Rules, Read: found.Read, Write: found.Write,
		Why: found.Why, LeftOut: found.LeftOut,
	}
	for _, rec := range recs {
		if rec.Kind == audit.KindJail && out.Origin == "" {
			out.Origin = rec.Origin
		}
	}
	return reply(w, out)
}
