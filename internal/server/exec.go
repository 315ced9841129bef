package server

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/daemon"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/policy"
)

// exec runs one command. Everything that can be refused is refused as an HTTP
// error before the connection is upgraded; after the 101 the connection carries
// one message with descriptors and then JSON lines, and belongs to the Manager.
func (s *Server) exec(w http.ResponseWriter, r *http.Request, c *caller) *api.Error {
	if !upgrades(r) {
		return needsUpgrade()
	}
	var req api.ExecRequest
	if err := decode(r, &req); err != nil {
		return err
	}
	plan, refused := s.plan(&req, c, s.cfg.Manager.Facts(), false)
	if refused != nil {
		return refused
	}
	ticket, refused := s.cfg.Manager.Admit(plan)
	if refused != nil {
		return refused
	}
	defer ticket.Release()
	return upgrade(w, c, func() { s.cfg.Manager.Run(ticket, c.conn) })
}

// plan decides who runs what under which policy, or refuses.
func (s *Server) plan(req *api.ExecRequest, c *caller, facts policy.Facts, session bool) (*daemon.Plan, *api.Error) {
	argv, cwd, refused := words(req, session)
	if refused == nil && cwd == "" {
		refused = api.Refuse(http.StatusBadRequest, "argv", "cwd is missing")
	}
	if refused == nil {
		refused = tooMuch(req, argv)
	}
	if refused != nil {
		return nil, refused
	}
	user, refused := s.identity(req.User, c)
	if refused != nil {
		return nil, refused
	}
	if home := req.Context["HOME"]; user.Home == noHome && filepath.IsAbs(home) {
		user.Home = filepath.Clean(home) // opened as the caller, like every path of theirs
	}
	limits, refused := limits(req)
	if refused != nil {
		return nil, refused
	}
	doc, _, refused := s.document(req.Policy, c)
	if refused != nil {
		return nil, refused
	}
	if req.Ask {
		if refused := wants(doc, req); refused != nil {
			return nil, refused
		}
	}
	for _, p := range req.Add.Presets {
		if !c.access.MayUse(p, false) {
			return nil, api.Refuse(http.StatusForbidden, "policy_access", "your access does not include preset %q", p)
		}
	}
	asked := policy.Request{
		Argv: texts(argv), Cwd: cwd, User: user, CallerUID: c.UID(), CallerGroups: s.groups(c),
		Own: c.access.MayUse("", true), Add: policy.Add(req.Add), Env: req.Env, Limits: limits, TTY: req.TTY != nil,
		Backend: req.Backend, SecretFDs: req.SecretFDs, Session: session, Publish: req.Publish, NodePorts: req.NodePorts,
	}
	spec, err := policy.Compile(doc, asked, facts)
	if err != nil {
		return nil, policyRefusal(err)
	}
	if refused := granted(spec, c); refused != nil {
		return nil, refused
	}
	return &daemon.Plan{
		Caller: c.Caller, Epoch: c.epoch, Confined: c.confined, MaxJails: c.access.Jails, MaxCache: int64(c.access.Cache), User: user, Document: doc, Request: asked, Spec: spec, Argv: argv, Cwd: cwd,
		Context: req.Context, SecretFDs: req.SecretFDs, TTY: req.TTY,
	}, nil
}

// wants refuses a request that asked, where doc lists variables of the client's that
// it does not have.
func wants(doc *policy.Document, req *api.ExecRequest) *api.Error {
	w := api.Wants{Context: slices.Concat(doc.PassNames(), doc.CommandNames()), Secrets: doc.EnvSources()}
	w.Context = slices.DeleteFunc(w.Context, func(name string) bool {
		_, sent := req.Context[name]
		return sent || policy.AlwaysPassed(name)
	})
	w.Secrets = slices.DeleteFunc(w.Secrets, func(name string) bool { return slices.Contains(req.SecretFDs, name) })
	if len(w.Context) == 0 && len(w.Secrets) == 0 {
		return nil
	}
	refused := api.Refuse(http.StatusPreconditionRequired, "environment", "policy %q wants variables of the client's that the request lacks", doc.Ref.Name)
	refused.Wants = &w
	return refused
}

// limits are what a request asks for. They only ever narrow a policy's.
func limits(req *api.ExecRequest) (l jail.Limits, refused *api.Error) {
	var err error
	if req.Timeout != "" {
		if l.Timeout, err = time.ParseDuration(req.Timeout); err != nil || l.Timeout <= 0 {
			return l, api.Refuse(http.StatusBadRequest, "timeout", "timeout: %.32q is not a duration such as 90s", req.Timeout)
		}
	}
	if req.Memory != "" {
		if l.Memory, err = jail.ParseSize(req.Memory); err != nil || l.Memory == 0 {
			return l, api.Refuse(http.StatusBadRequest, "memory", "memory: %.32q is not a size such as 512MiB or 1g", req.Memory)
		}
	}
	l.Pids = req.Pids
	if err := l.Check(); err != nil {
		return l, api.Refuse(http.StatusBadRequest, "limits", "%v", err)
	}
	return l, nil
}

// granted holds what the policy wants against the caller's access.
func granted(spec *jail.Spec, c *caller) *api.Error {
	if spec.Bare() && c.confined {
		return api.Refuse(http.StatusForbidden, "peer_confined", "policy %q isolates nothing, and a confined caller would leave its own sandbox by it", spec.Policy.Name)
	}
	for _, w := range spec.Weaken {
		if !slices.Contains(c.access.Weaken, string(w)) {
			return api.Refuse(http.StatusForbidden, "weaken_access", "your access does not include the weakening %q of policy %q", w, spec.Policy.Name).
				Hint("access entry of omnijaild.yaml: weaken: [%s]", w)
		}
	}
	for _, kind := range policy.SourceKinds(spec) {
		if !slices.Contains(c.access.Sources, string(kind)) {
			return api.Refuse(http.StatusForbidden, "source_access", "your access does not include %q sources, which policy %q uses", kind, spec.Policy.Name).
				Hint("access entry of omnijaild.yaml: sources: [%s]", kind)
		}
	}
	if len(spec.Publish) > 0 && !c.access.Publish {
		return api.Refuse(http.StatusForbidden, "publish_access", "your access does not let a jail's port be published").
			Hint("access entry of omnijaild.yaml: publish: true")
	}
	for _, p := range spec.NodePorts {
		if !c.access.MayReach(p) {
			return api.Refuse(http.StatusForbidden, "node_port_access", "your access does not include port %d of the node's loopback", p).
				Hint("access entry of omnijaild.yaml: node_ports: [%d]", p)
		}
	}
	return nil
}

// words returns the argument list, which may be empty where it is optional, and the
// working directory, empty where the request has none.
func words(req *api.ExecRequest, optional bool) (argv [][]byte, cwd string, refused *api.Error) {
	bad := func(format string, args ...any) ([][]byte, string, *api.Error) {
		return nil, "", api.Refuse(http.StatusBadRequest, "argv", format, args...)
	}
	argv = req.ArgvB64
	if len(req.Argv) > 0 {
		if len(argv) > 0 {
			return bad("argv and argv_b64 exclude each other")
		}
		for _, a := range req.Argv {
			argv = append(argv, []byte(a))
		}
	}
	if len(argv) == 0 && !optional || len(argv) > 0 && len(argv[0]) == 0 {
		return bad("there is no command to run")
	}
	cwd = req.Cwd
	if len(req.CwdB64) > 0 {
		if cwd != "" {
			return bad("cwd and cwd_b64 exclude each other")
		}
		cwd = string(req.CwdB64)
	}
	if cwd != "" && !filepath.IsAbs(cwd) {
		return bad("cwd: %q must be an absolute path", cwd)
	}
	for _, a := range argv {
		if slices.Contains(a, 0) {
			return bad("an argument holds a NUL byte")
		}
	}
	if strings.ContainsRune(cwd, 0) {
		return bad("cwd holds a NUL byte")
	}
	if !utf8.ValidString(cwd) {
		return bad("cwd: a path that is not UTF-8 cannot be granted in this build")
	}
	if cwd != "" {
		cwd = filepath.Clean(cwd)
	}
	return argv, cwd, nil
}

// maxWords bounds arguments and variables together, in bytes with a pointer for
// each: the kernel takes no more for a program, and a jail's plan keeps them.
const maxWords = 2 << 20

func tooMuch(req *api.ExecRequest, argv [][]byte) *api.Error {
	const pointer = 8
	n := len(req.Cwd) + len(req.CwdB64)
	for _, a := range argv {
		n += len(a) + pointer
	}
	for _, vars := range []map[string]string{req.Env, req.Context} {
		for k, v := range vars {
			n += len(k) + len(v) + pointer
		}
	}
	if n > maxWords {
		return api.Refuse(http.StatusBadRequest, "too_large", "arguments and environment are %d bytes together, more than a program can be given (%d)", n, maxWords)
	}
	return nil
}

func texts(argv [][]byte) []string {
	out := make([]string, len(argv))
	for i, a := range argv {
		out[i] = string(a)
	}
	return out
}
