package policy

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/jail"
	machine "github.com/omnijail/omnijail/internal/node"
)

// baseNeeds is what every jail must promise. Where a node cannot, nothing runs.
var baseNeeds = []jail.Guarantee{jail.Files, jail.NoPrivilege, jail.Syscalls, jail.NetworkOnlyProxy}

// Compile makes the Spec of one jail. It is pure: the same policy, request and
// facts give the same Spec. Errors are Errors.
func Compile(doc *Document, req Request, facts Facts) (*jail.Spec, error) {
	rep := &report{}
	checkClosed(doc, req, rep)
	checkOwn(req, rep)
	checkRequest(req, rep)
	doc = added(doc, req, rep)
	checkSecretFDs(doc, req, rep)
	checkSockets(doc, rep)
	if err := rep.err(); err != nil {
		return nil, err
	}
	if doc.bare(req) {
		return compileBare(doc, req, facts, rep)
	}
	home := ScratchHome(req.User)
	v := &view{doc: doc, req: req, facts: facts, home: home, rep: rep}
	backends, passed := backendsFor(doc, req, facts, rep)
	files := v.build()
	spec := &jail.Spec{
		Policy:       doc.Ref,
		Backends:     backends,
		Passed:       passed,
		Weaken:       doc.weakenings(),
		Needs:        slices.Clone(baseNeeds),
		View:         files,
		Warnings:     doc.asked(v.warnings(files.Grants)),
		Rules:        doc.rules(),
		Bindings:     doc.bindings(),
		Env:          envPlan(doc, req, home, rep),
		Limits:       doc.Limits.Narrow(req.Limits).Under(facts.Limits),
		OnMisuse:     doc.OnMisuse,
		BodyCheck:    doc.BodyCheck,
		Denied:       doc.Denied,
		OnReflection: doc.OnReflection,
		OnMinted:     doc.OnMinted,
		Observe:      doc.Observe,
		ProxyEnv:     doc.ProxyEnv,
		MaxAge:       doc.MaxAge,
		Closed:       doc.requestKeys(),
		Publish:      ports(doc.Publish, req.Publish),
		NodePorts:    ports(doc.NodePorts, req.NodePorts),
		Detect:       doc.ProtectNew.Text == "detect",
		Restage:      doc.OnReplaced.Text == "restage",
		Cache:        v.cache(files),
	}
	if spec.MaxAge == 0 {
		spec.MaxAge = DefaultMaxAge
	}
	checkPorts(spec, rep)
	checkSwap(doc, spec.Limits, rep)
	if spec.OnMisuse == "" {
		spec.OnMisuse = "deny"
	}
	if spec.OnReflection == "" {
		spec.OnReflection = "mask"
	}
	if spec.OnMinted == "" {
		spec.OnMinted = "pass"
	}
	checkNetwork(doc, rep)
	checkObserve(doc, rep)
	checkRestage(doc, rep)
	spec.OCI = ociSpec(req, facts, spec.Limits, home, jailGroups(doc, req, facts, rep))
	if err := rep.err(); err != nil {
		return nil, err
	}
	return spec, nil
}

// checkObserve refuses what cannot be observed: a weakening of the system calls has
// filters of its own.
func checkObserve(doc *Document, rep *report) {
	for _, w := range doc.Weaken {
		switch jail.Weakening(w.Text) {
		case jail.WeakPtrace, jail.WeakNestedSandbox, jail.WeakCompatABI:
			if doc.Observe {
				rep.errorf(w.At, "observe", "cannot be together with weaken: [%s], which selects another filter of system calls", w.Text)
			}
		}
	}
}

// checkRestage refuses to protect anew what a command can have in mount namespaces of
// its own: those lose a protection as its first does, and nobody puts it back there.
func checkRestage(doc *Document, rep *report) {
	for _, w := range doc.Weaken {
		if w.Text == string(jail.WeakNestedSandbox) && doc.OnReplaced.Text == "restage" {
			rep.errorf(doc.OnReplaced.At, "on_replaced", "restage cannot be together with weaken: [%s]: what was replaced would stay open in the namespaces that the command makes", w.Text)
		}
	}
}

// checkSwap refuses swap that nothing is counted beside.
func checkSwap(doc *Document, l jail.Limits, rep *report) {
	if doc.Limits.Swap > 0 && l.Memory == 0 {
		rep.add(Error{Pos: doc.SwapAt, Key: "limits.swap", Msg: "counts beside limits.memory, and memory has no limit", Fix: "add memory: 1GiB to limits"})
	}
}

// checkRequest refuses what no policy can make right.
func checkRequest(req Request, rep *report) {
	bad := func(key, format string, args ...any) {
		rep.errorf(Pos{}, key, format, args...)
	}
	if len(req.Argv) == 0 && !req.Session {
		bad("argv", "is empty")
	}
	for _, a := range append(slices.Clone(req.Argv), req.Cwd) {
		if strings.ContainsRune(a, 0) {
			bad("argv", "holds a NUL")
		}
	}
	if !filepath.IsAbs(req.Cwd) || filepath.Clean(req.Cwd) != req.Cwd {
		bad("cwd", "%q is not a clean absolute path", req.Cwd)
	}
	if err := req.Limits.Check(); err != nil {
		rep.errorf(Pos{}, "", "%v", err)
	}
	for name, value := range req.Env {
		if msg := checkEnvName(name); msg != "" {
			bad("env", "%.64q %s", name, msg)
		} else if strings.ContainsRune(value, 0) {
			bad("env", "the value of %s holds a NUL", name)
		}
	}
}

// backendsFor returns the backends that the policy accepts and that promise all
// it needs, in its order, and why it had to pass over those before the first.
func backendsFor(doc *Document, req Request, facts Facts, rep *report) (out []string, passed string) {
	accepted := doc.Backend
	if len(accepted) == 0 {
		accepted = facts.Backends
	}
	if req.Backend != "" {
		if !slices.Contains(backends, req.Backend) {
			rep.errorf(Pos{}, "backend", "there is no %.32q (there are %s)", req.Backend, strings.Join(backends, " and "))
			return nil, ""
		}
		if len(doc.Backend) > 0 && !slices.Contains(doc.Backend, req.Backend) {
			rep.errorf(Pos{}, "backend", "policy %q does not accept %.32q", doc.Ref.Name, req.Backend)
		}
		accepted = []string{req.Backend}
	}
	if len(accepted) == 0 {
		accepted = []string{machine.Bubblewrap}
	}
	var why []string
	absent := 0
	for _, b := range accepted {
		offered, ok := facts.Guarantees[b]
		if !ok {
			absent++
			why = append(why, b+" cannot run here")
			continue
		}
		missing := slices.DeleteFunc(slices.Clone(baseNeeds), func(g jail.Guarantee) bool { return slices.Contains(offered, g) })
		if len(missing) > 0 {
			why = append(why, fmt.Sprintf("%s does not give %v here", b, missing))
			continue
		}
		if i := slices.IndexFunc(doc.Weaken, func(w Item) bool { return machine.Refuses(b, jail.Weakening(w.Text)) != "" }); i >= 0 {
			w := doc.Weaken[i]
			why = append(why, fmt.Sprintf("%s cannot keep %s (%s), which needs %s", b, w.Text, w.At, machine.Refuses(b, jail.Weakening(w.Text))))
			continue
		}
		if s := unkeptSocket(doc, b); s != nil {
			why = append(why, fmt.Sprintf("%s cannot keep unix_sockets (%s) without weaken: [unix_sockets]: before ABI 9 Landlock holds no socket that has a name", b, s.At))
			continue
		}
		if out = append(out, b); len(out) == 1 {
			passed = strings.Join(why, "; ")
		}
	}
	switch o := facts.Obstacles[accepted[0]]; {
	case len(out) > 0:
	case absent == len(accepted) && o.Reason != "": // the preferred one is the easiest to put right
		rep.add(Error{Code: "unsupported", Msg: o.Reason, Fix: o.Fix})
	default:
		rep.add(Error{Key: "backend", Code: "unsupported", Msg: "no backend gives what this policy needs: " + strings.Join(why, "; "),
			Fix: "omnijailctl doctor says what this node lacks"})
	}
	return out, passed
}

// jailGroups picks the supplementary groups that the policy lists from those of
// the connection. The user database is not asked: it may give more than the
// caller's process holds.
func jailGroups(doc *Document, req Request, facts Facts, rep *report) []uint32 {
	for _, id := range []uint32{req.User.UID, req.User.GID} {
		if id == 0 || id == 65534 || id == ^uint32(0) {
			rep.add(Error{Key: "user", Code: "identity", Msg: fmt.Sprintf("a jail never runs as id %d", id)})
		}
	}
	if req.User.GID == facts.SocketGID {
		rep.add(Error{Key: "user", Code: "identity", Msg: "the primary group may command the daemon, so no jail may have it"})
	}
	var out []uint32
	for i, want := range doc.Groups {
		at := slices.IndexFunc(req.CallerGroups, func(g Group) bool {
			return g.Name != "" && g.Name == want.Text || fmt.Sprint(g.GID) == want.Text
		})
		switch key := index("groups", i); {
		case at < 0:
			rep.errorf(want.At, key, "you are not in group %.64q in this session", want.Text)
		case req.CallerGroups[at].GID == 0 || req.CallerGroups[at].GID == facts.SocketGID:
			rep.errorf(want.At, key, "group %.64q is never passed into a jail", want.Text)
		default:
			out = appendNew(out, req.CallerGroups[at].GID)
		}
	}
	return out
}

// ScratchHome is where the jail has its own empty home: at the place of the
// caller's, so that paths in messages and configuration agree, unless that is
// no place for one.
func ScratchHome(u jail.User) string {
	if jail.CheckDest(u.Home, "", nil) == nil && u.Home != "/home" {
		return u.Home
	}
	return fmt.Sprintf("/home/u%d", u.UID)
}

func (d *Document) weakenings() []jail.Weakening {
	var out []jail.Weakening
	for _, w := range d.Weaken {
		out = appendNew(out, jail.Weakening(w.Text))
	}
	slices.Sort(out)
	return out
}

func (d *Document) rules() []egress.Rule {
	var out []egress.Rule
	for _, r := range d.Rules {
		out = append(out, r.Rule)
	}
	return append(out, d.openRules()...)
}

func (d *Document) bindings() []creds.Binding {
	var out []creds.Binding
	for _, c := range d.Credentials {
		out = append(out, c.Binding)
	}
	return out
}

// SourceKinds returns the kinds of credential source that a Spec uses, sorted:
// what the operator's access entry must grant.
func SourceKinds(s *jail.Spec) []creds.SourceKind {
	kinds := map[creds.SourceKind]bool{}
	for _, b := range s.Bindings {
		for _, src := range b.Sources {
			kinds[src.Kind] = true
		}
	}
	return slices.Sorted(maps.Keys(kinds))
}
