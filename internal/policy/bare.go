package policy

import (
	"path/filepath"
	"slices"

	"github.com/omnijail/omnijail/internal/jail"
	machine "github.com/omnijail/omnijail/internal/node"
)

// bareKeys are the keys that mean something where nothing is isolated.
var bareKeys = []string{
	"name", "description", "extends", "caller", "backend", "weaken", "env", "env_passthrough", "groups", "limits", "allow_network", "max_age",
}

// bare reports whether the policy, or the request, asks for a command that is not
// isolated.
func (d *Document) bare(req Request) bool {
	return slices.Contains(d.weakenings(), jail.WeakNoIsolation) || slices.Contains(d.Backend, machine.Nothing) || req.Backend == machine.Nothing
}

// compileBare makes the Spec of a command that is not isolated: who it runs as, its
// environment and its limits. Whatever else a policy says would not be kept, so it
// is refused with its line.
func compileBare(doc *Document, req Request, facts Facts, rep *report) (*jail.Spec, error) {
	checkBare(doc, req, facts, rep)
	home := req.User.Home
	if !filepath.IsAbs(home) {
		home = "/"
	}
	spec := &jail.Spec{
		Policy:   doc.Ref,
		Backends: []string{machine.Nothing},
		Weaken:   doc.weakenings(),
		Needs:    slices.Clone(facts.Guarantees[machine.Nothing]),
		View:     jail.View{Cwd: req.Cwd},
		Env:      envPlan(doc, req, home, rep),
		Limits:   doc.Limits.Narrow(req.Limits).Under(facts.Limits),
		OnMisuse: "deny",
		MaxAge:   DefaultMaxAge,
		Closed:   doc.requestKeys(),
	}
	checkSwap(doc, spec.Limits, rep)
	spec.OCI = ociSpec(req, facts, spec.Limits, home, jailGroups(doc, req, facts, rep))
	if err := rep.err(); err != nil {
		return nil, err
	}
	return spec, nil
}

// checkBare wants both words for it, and nothing beside them that needs a jail.
func checkBare(doc *Document, req Request, facts Facts, rep *report) {
	i := slices.IndexFunc(doc.Weaken, func(w Item) bool { return w.Text == string(jail.WeakNoIsolation) })
	switch {
	case i < 0:
		rep.add(Error{Key: "backend", Msg: "none isolates nothing, which only a policy can ask for", Fix: "backend: none and weaken: [no_isolation] in a policy, if that is what is meant"})
		return
	case !slices.Equal(doc.Backend, []string{machine.Nothing}):
		rep.add(Error{Pos: doc.Weaken[i].At, Key: "weaken", Msg: "no_isolation goes with backend: none, alone", Fix: "backend: none"})
	case len(doc.Weaken) > 1:
		rep.errorf(doc.Weaken[i].At, "weaken", "beside no_isolation there is nothing to weaken")
	case req.Backend != "" && req.Backend != machine.Nothing:
		rep.errorf(Pos{}, "backend", "policy %q does not accept %.32q", doc.Ref.Name, req.Backend)
	case req.Session || len(req.Publish)+len(req.NodePorts)+len(req.SecretFDs) > 0:
		rep.errorf(Pos{}, "backend", "none runs one command: it has no session, no ports and no credentials")
	}
	if _, ok := facts.Guarantees[machine.Nothing]; !ok {
		rep.add(Error{Key: "backend", Code: "unsupported", Msg: "none cannot run here", Fix: "omnijailctl doctor says what this node lacks"})
	}
	for _, f := range doc.tree.fields {
		if !slices.Contains(bareKeys, f.name) && !f.value.isNull() && (f.value.kind != list || len(f.value.items) > 0) {
			rep.errorf(f.at, f.name, "cannot be kept by backend: none, which isolates nothing")
		}
	}
	if l := doc.Limits; l.Scratch > 0 || l.Cache > 0 {
		rep.errorf(doc.Weaken[i].At, "limits", "scratch and cache are a jail's, and backend: none makes none")
	}
}
