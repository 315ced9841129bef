package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/user"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/policy"
)

// rootPolicies is where the operator's policies are. A daemon that was told
// otherwise is asked by name.
const rootPolicies = "/etc/omnijail/policies"

// offline is the preset that rules where there is no policy at all.
const offline = "offline"

func homeDir() string {
	if h := os.Getenv("HOME"); strings.HasPrefix(h, "/") {
		return h
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return "/nonexistent"
}

func library() policy.Library {
	return policy.Library{Root: rootPolicies, User: policy.UserDir(homeDir())}
}

// choosePolicy finds the policy, refuses one that was not trusted, and adds to
// req what the policy needs of this environment.
func choosePolicy(g *globals, f *execFlags, req *api.ExecRequest) (json.RawMessage, error) {
	cwd := req.Cwd
	if cwd == "" {
		cwd = string(req.CwdB64)
	}
	needs := &environment{}
	for _, name := range f.add.Presets {
		if doc, err := policy.Preset(name); err == nil {
			needs.add(doc)
		}
	}
	raw, theirs, err := g.sendPolicy(f.policy, cwd, needs)
	if err != nil {
		return nil, err
	}
	needs.fill(req)
	req.Ask = theirs
	return raw, nil
}

// sendPolicy returns what travels: the flattened document, or nothing or a name
// where the daemon has the policy, which is theirs then: what it needs is not known
// here.
func (g *globals) sendPolicy(arg, cwd string, needs *environment) (raw json.RawMessage, theirs bool, err error) {
	needs.add(&policy.Document{})
	lib := library()
	if _, err := lib.Find(arg, cwd); err != nil && !policy.IsFile(arg) && policy.ValidName(arg) {
		raw, err = json.Marshal(arg) // the daemon may know a folder that we do not
		return raw, true, err
	}
	found, flat, doc, err := lib.ForExec(arg, cwd, policy.Trust{Path: policy.TrustPath(homeDir())})
	if err != nil {
		return nil, false, policyErrors(err)
	}
	for _, s := range found.Shadowed {
		if !g.quiet {
			say("%s hides %s", found, s)
		}
	}
	switch {
	case flat != nil:
		needs.add(doc)
		raw, err = json.Marshal(flat)
	case found.Kind == policy.Builtin && arg != "":
		needs.add(doc)
		raw, err = json.Marshal(found.Name)
	case found.Kind == policy.Builtin: // none that we can see: the daemon's default decides
		theirs = true
	default:
		theirs = true
		raw, err = json.Marshal(found.Name)
	}
	return raw, theirs, err
}

// withEnvironment sends req by start, once more with what the policy wants of this
// environment where it turns out to want more.
func withEnvironment(req api.ExecRequest, start func(api.ExecRequest, []*os.File) (*api.Session, error)) (*api.Session, error) {
	for {
		secrets, err := openSecrets(&req)
		if err != nil {
			return nil, err
		}
		s, err := start(req, secrets)
		for _, f := range secrets {
			f.Close()
		}
		var refused *api.Error
		if !req.Ask || !errors.As(err, &refused) || refused.Wants == nil {
			return s, err
		}
		req.Ask = false
		(&environment{pass: refused.Wants.Context, secrets: refused.Wants.Secrets}).fill(&req)
	}
}

// environment is what a policy wants of the client's own.
type environment struct {
	pass    []string // variables that the command or a credential command may get
	secrets []string // variables whose values travel as sealed descriptors
}

func (e *environment) add(doc *policy.Document) {
	e.pass = slices.Concat(e.pass, doc.PassNames(), doc.CommandNames())
	e.secrets = append(e.secrets, doc.EnvSources()...)
}

func (e *environment) fill(req *api.ExecRequest) {
	if req.Context == nil {
		req.Context = map[string]string{}
	}
	names := append(e.pass, "HOME", "PATH") // for ~ and for finding the command
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if slices.Contains(names, name) && utf8.ValidString(value) {
			req.Context[name] = value
		}
	}
	for _, s := range e.secrets {
		if !slices.Contains(req.SecretFDs, s) {
			req.SecretFDs = append(req.SecretFDs, s)
		}
	}
}

// policyErrors gives a policy's errors the shape of the API's, so that they are
// printed in one place.
func policyErrors(err error) error {
	var un *policy.Untrusted
	if errors.As(err, &un) {
		return &api.Error{Code: "untrusted", Reason: un.Error(), Fix: un.Fix()}
	}
	var list policy.Errors
	if !errors.As(err, &list) {
		return err
	}
	if len(list) == 1 && list[0].Line == 0 { // not of a line: a file that cannot be read, a flag
		return &api.Error{Code: "policy", Reason: list[0].Error(), Fix: list[0].Fix}
	}
	out := &api.Error{Code: "policy", Reason: "the policy does not hold"}
	for _, e := range list {
		out.Positions = append(out.Positions, api.Position{File: e.File, Line: e.Line, Col: e.Col, Key: e.Key, Msg: e.Msg, Fix: e.Fix})
	}
	return out
}
