package server

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/omnijail/omnijail/api"
)

// handlerFunc serves one request of an authorized caller.
type handlerFunc func(s *Server, w http.ResponseWriter, r *http.Request, c *caller) *api.Error

// routes is the whole API. api/openapi.yaml lists the same, a test holds the two
// together and walks it as three users.
var routes = map[string]handlerFunc{
	"GET /v1/version":               (*Server).version,
	"GET /v1/healthz":               (*Server).healthz,
	"GET /v1/doctor":                (*Server).doctor,
	"POST /v1/exec":                 (*Server).exec,
	"GET /v1/jails":                 (*Server).jails,
	"POST /v1/jails":                (*Server).create,
	"POST /v1/jails/{id}/exec":      (*Server).execIn,
	"POST /v1/jails/{id}/signal":    (*Server).signal,
	"GET /v1/jails/{id}/logs":       (*Server).logs,
	"POST /v1/jails/{id}/attach":    (*Server).attach,
	"GET /v1/jails/{id}":            (*Server).jail,
	"DELETE /v1/jails/{id}":         (*Server).endJail,
	"PUT /v1/jails/{id}/policy":     (*Server).changePolicy,
	"POST /v1/jails/{id}/policy":    (*Server).changePolicyWith,
	"POST /v1/jails/{id}/rearm":     (*Server).rearm,
	"GET /v1/jails/{id}/suggestion": (*Server).suggestion,
	"GET /v1/caches":                (*Server).caches,
	"DELETE /v1/caches":             (*Server).removeCaches,
	"GET /v1/caches/{id}":           (*Server).cache,
	"DELETE /v1/caches/{id}":        (*Server).removeCache,
	"GET /v1/policies":              (*Server).policies,
	"GET /v1/policies/{name}":       (*Server).policy,
	"POST /v1/policies:check":       (*Server).checkPolicy,
	"POST /v1/policies:test":        (*Server).testPolicy,
	"GET /v1/events":                (*Server).events,
	"GET /v1/events/{id}":           (*Server).event,
	"POST /v1/drain":                (*Server).drain,
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range routes {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			c, refused := s.authorize(r)
			if refused == nil {
				refused = s.serve(h, w, r, c)
			}
			if refused != nil {
				s.recordRefusal(pattern, r, refused)
				writeError(w, refused)
			}
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if _, refused := s.authorize(r); refused != nil {
			writeError(w, refused)
			return
		}
		writeError(w, api.NotFound())
	})
	return mux
}

func writeError(w http.ResponseWriter, e *api.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Status)
	json.NewEncoder(w).Encode(map[string]*api.Error{"error": e})
}

func reply(w http.ResponseWriter, v any) *api.Error {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
	return nil
}

// decode decodes a body strictly: UTF-8 (JSON decoding would replace what is not,
// and a path would name another file), no unknown field, nothing behind.
func decode(r *http.Request, out any) *api.Error {
	b, err := io.ReadAll(r.Body) // in memory already, and bounded
	switch {
	case err != nil:
		return api.Refuse(http.StatusBadRequest, "body", "read request: %v", err)
	case !utf8.Valid(b):
		return api.Refuse(http.StatusBadRequest, "not_utf8", "the request is not UTF-8").Hint("send such strings in the _b64 fields")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil {
		return api.Refuse(http.StatusBadRequest, "json", "the request does not decode: %v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return api.Refuse(http.StatusBadRequest, "json", "something follows the request's JSON")
	}
	return nil
}
