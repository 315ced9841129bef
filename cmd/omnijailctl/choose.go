package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
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

// baseContext are the variables that a jail's environment or a credential
// command may be built from; the daemon picks by name.
var baseContext = strings.Fields(`PATH HOME USER LOGNAME SHELL TERM LANG TZ COLORTERM NO_COLOR
	XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR
	DBUS_SESSION_BUS_ADDRESS SSH_AUTH_SOCK GPG_TTY GH_CONFIG_DIR`)

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
func choosePolicy(ctx context.Context, g *globals, f *execFlags, req *api.ExecRequest) (json.RawMessage, error) {
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
	raw, err := sendPolicy(ctx, g, f.policy, cwd, needs)
	if err != nil {
		return nil, err
	}
	needs.fill(req)
	return raw, nil
}

// sendPolicy returns what travels: a name where the daemon has the policy, else
// the flattened document.
func sendPolicy(ctx context.Context, g *globals, arg, cwd string, needs *environment) (json.RawMessage, error) {
	lib := library()
	found, err := lib.Find(arg, cwd)
	if err != nil && !policy.IsFile(arg) && policy.ValidName(arg) {
		return askDaemon(ctx, g, arg, needs) // the daemon may know a folder that we do not
	}
	if err != nil {
		return nil, err
	}
	for _, s := range found.Shadowed {
		if !g.quiet {
			say("%s hides %s", found, s)
		}
	}
	switch found.Kind {
	case policy.File, policy.User:
		flat, doc, err := flattenTrusted(lib, found, cwd)
		if err != nil {
			return nil, err
		}
		needs.add(doc)
		return json.Marshal(flat)
	case policy.Builtin:
		if arg == "" { // no policy anywhere that we can see: the daemon's default decides
			return askDaemon(ctx, g, "", needs)
		}
		doc, err := policy.Preset(found.Name)
		if err != nil {
			return nil, policyErrors(err)
		}
		needs.add(doc)
		return json.Marshal(found.Name)
	}
	return askDaemon(ctx, g, found.Name, needs)
}

// flattenTrusted flattens a user's own policy. One that lies where the command
// will run is obeyed only if its owner has read this very content.
func flattenTrusted(lib policy.Library, found policy.Found, cwd string) (*policy.Flat, *policy.Document, error) {
	flat, doc, err := lib.Flatten(found)
	if err != nil {
		return nil, nil, policyErrors(err)
	}
	trust := policy.Trust{Path: policy.TrustPath(homeDir())}
	needed, err := trust.Needed(found, cwd)
	if err == nil && needed {
		err = trust.Check(found, flat, doc, cwd)
	}
	var un *policy.Untrusted
	if errors.As(err, &un) {
		return nil, nil, &api.Error{Code: "untrusted", Reason: un.Error(), Fix: un.Fix()}
	}
	return flat, doc, err
}

// askDaemon names a policy that the daemon has; the empty name is its default.
func askDaemon(ctx context.Context, g *globals, name string, needs *environment) (json.RawMessage, error) {
	path := "/v1/policies/" + url.PathEscape(name)
	if name == "" {
		path = "/v1/policies/default"
	}
	var p api.Policy
	err := g.client().Get(ctx, path, nil, &p)
	var refused *api.Error
	if name == "" && errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return nil, nil // no default there: the preset offline
	}
	if err != nil {
		return nil, err
	}
	needs.passthrough = append(needs.passthrough, p.Passthrough...)
	needs.secrets = append(needs.secrets, p.SecretEnv...)
	needs.command = append(needs.command, p.CommandEnv...)
	return json.Marshal(p.Name)
}

// environment is what a policy wants of the client's own.
type environment struct {
	passthrough, secrets, command []string
}

func (e *environment) add(doc *policy.Document) {
	for _, item := range doc.Passthrough {
		e.passthrough = append(e.passthrough, item.Text)
	}
	e.secrets = append(e.secrets, doc.EnvSources()...)
	for _, c := range doc.Credentials {
		for _, s := range c.Sources {
			e.command = append(e.command, s.Pass...)
		}
	}
}

func (e *environment) fill(req *api.ExecRequest) {
	req.Context = map[string]string{}
	names := slices.Concat(baseContext, e.passthrough, e.command)
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		wanted := slices.Contains(names, name) || strings.HasPrefix(name, "LC_")
		if wanted && utf8.ValidString(value) {
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
	var list policy.Errors
	if !errors.As(err, &list) {
		return err
	}
	out := &api.Error{Code: "policy", Reason: "the policy does not hold"}
	for _, e := range list {
		out.Positions = append(out.Positions, api.Position{File: e.File, Line: e.Line, Col: e.Col, Key: e.Key, Msg: e.Msg, Fix: e.Fix})
	}
	return out
}
