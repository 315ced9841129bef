package server

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/jail"
)

// events lists or follows the caller's own part of the journal, a JSON line each.
func (s *Server) events(w http.ResponseWriter, r *http.Request, c *caller) *api.Error {
	q := r.URL.Query()
	f := audit.Filter{UID: c.UID(), All: c.UID() == 0, Denied: q.Get("denied") == "true"}
	if id := q.Get("jail"); id != "" {
		parsed, err := jail.ParseID(id)
		if err != nil {
			return api.NotFound()
		}
		f.Jail = parsed.String()
	}
	if since := q.Get("since"); since != "" {
		t, err := parseSince(since, time.Now())
		if err != nil {
			return api.Refuse(http.StatusBadRequest, "since", "%q is neither a duration nor an RFC 3339 time", since)
		}
		f.Since = t
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	enc := json.NewEncoder(w)
	if q.Get("follow") == "true" {
		return s.follow(w, r, c, enc, f)
	}
	_, refused := s.past(enc, f)
	return refused
}

// past sends what the journal has and returns the number of the last record.
func (s *Server) past(enc *json.Encoder, f audit.Filter) (last uint64, refused *api.Error) {
	recs, err := s.cfg.Manager.Journal().Query(f)
	if err != nil {
		return 0, api.Refuse(http.StatusInternalServerError, "audit", "read the journal: %v", err)
	}
	for _, rec := range recs {
		if enc.Encode(rec) != nil {
			return last, nil
		}
		last = rec.Seq
	}
	return last, nil
}

// follow sends what comes, after what there is since the time that was named.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, c *caller, enc *json.Encoder, f audit.Filter) *api.Error {
	ch, cancel := s.cfg.Manager.Journal().Subscribe(f)
	defer cancel()
	var last uint64
	if !f.Since.IsZero() {
		var refused *api.Error
		if last, refused = s.past(enc, f); refused != nil {
			return refused
		}
	}
	c.endTurn()
	flush := http.NewResponseController(w)
	flush.Flush()
	for {
		select {
		case <-r.Context().Done():
			return nil
		case rec, ok := <-ch:
			if ok && rec.Seq <= last {
				continue // sent already: it was written while the past was read
			}
			if !ok || enc.Encode(rec) != nil || flush.Flush() != nil {
				return nil
			}
		}
	}
}

// event explains one record; another's is not found, like none.
func (s *Server) event(w http.ResponseWriter, r *http.Request, c *caller) *api.Error {
	rec, err := s.cfg.Manager.Journal().Find(r.PathValue("id"))
	if err != nil || (c.UID() != 0 && rec.UID != c.UID()) {
		return api.NotFound()
	}
	return reply(w, rec)
}

func parseSince(s string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(s); err == nil {
		return now.Add(-d), nil
	}
	return time.Parse(time.RFC3339, s)
}
