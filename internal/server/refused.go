package server

import (
	"fmt"
	"net/http"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/audit"
)

// starts are the operations that run something. What they are refused is in the
// journal, and has an id for the one who asks why.
var starts = map[string]bool{"POST /v1/exec": true, "POST /v1/jails": true, "POST /v1/jails/{id}/exec": true}

// recordRefusal writes a refused start into the journal of the uid that asked, and
// gives the answer its id. A request that is malformed, or about what is not there,
// was not refused by any line.
func (s *Server) recordRefusal(pattern string, r *http.Request, e *api.Error) {
	peer, _ := r.Context().Value(peerKey{}).(*peerConn)
	if !starts[pattern] || peer == nil || peer.err != nil || e.ID != "" {
		return
	}
	switch e.Status {
	case http.StatusForbidden, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusServiceUnavailable:
	default:
		return
	}
	rec := audit.Record{Kind: audit.KindDenial, Decision: audit.Deny, UID: peer.caller.UID(), Code: e.Code, Reason: e.Reason, Fix: e.Fix}
	if len(e.Positions) > 0 {
		p := e.Positions[0]
		if rec.Origin = p.File; p.Line > 0 {
			rec.Origin = fmt.Sprintf("%s:%d", p.File, p.Line)
		}
		if p.Key != "" {
			rec.Rule = p.Key + ": "
		}
		rec.Rule += p.Msg
		if rec.Fix == "" {
			rec.Fix = p.Fix
		}
	}
	e.ID = s.cfg.Manager.RecordRefusal(rec)
}
