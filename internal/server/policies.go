package server

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/config"
	"github.com/omnijail/omnijail/internal/policy"
)

// library is the operator's policies and the presets. Nothing of a user's is
// ever opened here: their policies come as documents.
func (s *Server) library() policy.Library {
	return policy.Library{Root: s.cfg.Settings().PolicyDir, Owned: config.RootOwned}
}

// document decodes what a request names or brings. own says that it is the
// caller's own.
func (s *Server) document(raw json.RawMessage, c *caller) (doc *policy.Document, own bool, refused *api.Error) {
	var name string
	var err error
	switch {
	case len(raw) == 0 || string(raw) == "null":
		doc, err = s.library().Load("")
	case raw[0] == '"':
		if err := json.Unmarshal(raw, &name); err != nil {
			return nil, false, api.Refuse(http.StatusBadRequest, "json", "policy: %v", err)
		}
		if !policy.ValidName(name) {
			return nil, false, api.Refuse(http.StatusBadRequest, "policy_name", "%.64q is not the name of a policy", name)
		}
		doc, err = s.library().Load(name)
	default:
		own = true
		doc, err = policy.DecodeFlat(raw, c.UID())
	}
	if err != nil {
		return nil, own, policyRefusal(err)
	}
	if !c.access.MayUse(doc.Ref.Name, own) {
		return nil, own, api.Refuse(http.StatusForbidden, "policy_access", "your access does not include policy %q", doc.Ref.Name).
			Hint("access entry of omnijaild.yaml: policies: [%s]", map[bool]string{true: "own", false: doc.Ref.Name}[own])
	}
	return doc, own, nil
}

// policyRefusal turns every error of a document into one answer with positions.
func policyRefusal(err error) *api.Error {
	var list policy.Errors
	if !errors.As(err, &list) {
		return api.Refuse(http.StatusUnprocessableEntity, "policy", "%v", err)
	}
	out := api.Refuse(http.StatusUnprocessableEntity, "policy", "the policy does not hold")
	switch {
	case list.Has("policy_closed"):
		out.Status, out.Code = http.StatusForbidden, "policy_closed"
	case list.Has("policy_access"):
		out.Status, out.Code = http.StatusForbidden, "policy_access"
	case list.Has("no_such_policy"):
		out.Status, out.Code = http.StatusNotFound, "no_such_policy"
	}
	if len(list) == 1 {
		out.Reason, out.Fix = list[0].Error(), list[0].Fix
		return out
	}
	for _, e := range list {
		out.Positions = append(out.Positions, api.Position{File: e.File, Line: e.Line, Col: e.Col, Key: e.Key, Msg: e.Msg, Fix: e.Fix})
	}
	return out
}

func (s *Server) policies(w http.ResponseWriter, _ *http.Request, c *caller) *api.Error {
	out := []api.Policy{}
	for _, f := range s.library().Names() {
		if c.access.MayUse(f.Name, false) {
			out = append(out, api.Policy{Name: f.Name, Origin: f.String()})
		}
	}
	return reply(w, out)
}

func (s *Server) policy(w http.ResponseWriter, r *http.Request, c *caller) *api.Error {
	name := r.PathValue("name")
	if !policy.ValidName(name) || !c.access.MayUse(name, false) {
		return api.NotFound()
	}
	doc, err := s.library().Load(name)
	if err != nil {
		return policyRefusal(err)
	}
	return reply(w, describe(doc, c))
}

// describe tells a client what to send for a policy: names of variables, never a
// source's path or command beyond the names it may be passed.
func describe(doc *policy.Document, c *caller) api.Policy {
	text := ""
	if c.UID() == 0 || !doc.Closed {
		text = policy.Show(doc, "/") // it says where credentials come from
	}
	return api.Policy{
		Name: doc.Ref.Name, Origin: doc.Ref.Origin, Description: doc.Description, SecretEnv: doc.EnvSources(),
		Passthrough: doc.PassNames(), CommandEnv: doc.CommandNames(), Text: text,
	}
}

func (s *Server) checkPolicy(w http.ResponseWriter, r *http.Request, c *caller) *api.Error {
	var req api.PolicyCheck
	if err := decode(r, &req); err != nil {
		return err
	}
	doc, _, refused := s.document(req.Policy, c)
	if refused != nil {
		return refused
	}
	return reply(w, describe(doc, c))
}

func (s *Server) testPolicy(w http.ResponseWriter, r *http.Request, c *caller) *api.Error {
	var req api.PolicyTest
	if err := decode(r, &req); err != nil {
		return err
	}
	doc, _, refused := s.document(req.Policy, c)
	if refused != nil {
		return refused
	}
	answer, err := policy.TestURL(doc, req.Method, req.URL)
	if err != nil {
		return api.Refuse(http.StatusBadRequest, "url", "%v", err)
	}
	return reply(w, api.TestResult{Allowed: answer.Allowed, Credential: answer.Credential, Text: answer.Text})
}
