package policy

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/jail"
)

// fixed are the keys that a running jail was made by, and what a document says under
// each. What they stand for exists: mounts, a cgroup, variables of processes.
var fixed = map[string]func(d *Document, in base) any{
	"backend":          func(d *Document, _ base) any { return d.Backend },
	"weaken":           func(d *Document, _ base) any { return d.lastingWeakenings() },
	"read_paths":       func(d *Document, in base) any { return in.paths(d.Read) },
	"write_paths":      func(d *Document, in base) any { return in.paths(d.Write) },
	"mask_paths":       func(d *Document, in base) any { return in.paths(d.Mask) },
	"unix_sockets":     func(d *Document, in base) any { return in.paths(d.Sockets) },
	"protect":          func(d *Document, in base) any { return in.paths(d.Protect) },
	"protect_new":      func(d *Document, _ base) any { return d.ProtectNew.Text },
	"on_replaced":      func(d *Document, _ base) any { return d.OnReplaced.Text },
	"protect_scan":     func(d *Document, _ base) any { return [2]int{d.ScanMax, d.ScanDepth} },
	"cwd_allow_hidden": func(d *Document, _ base) any { return texts(d.AllowHidden) },
	"cwd_hidden_scan":  func(d *Document, _ base) any { return d.HiddenMax },
	"groups":           func(d *Document, _ base) any { return texts(d.Groups) },
	"env":              func(d *Document, _ base) any { return fmt.Sprint(d.Env) },
	"env_passthrough":  func(d *Document, _ base) any { return texts(d.Passthrough) },
	"limits":           func(d *Document, _ base) any { return d.Limits },
	"proxy_env":        func(d *Document, _ base) any { return d.ProxyEnv },
	"observe":          func(d *Document, _ base) any { return d.Observe },
	"max_age":          func(d *Document, _ base) any { return d.MaxAge },
	"publish":          func(d *Document, _ base) any { return d.Publish },
	"node_ports":       func(d *Document, _ base) any { return d.NodePorts },
	"cache":            func(d *Document, _ base) any { return d.Cache },
}

// base is where the paths of a document count from: the jail's working directory.
type base string

func (p base) paths(list []Item) (out []string) {
	for _, w := range texts(list) {
		if !filepath.IsAbs(w) && !strings.HasPrefix(w, "~") {
			w = filepath.Join(string(p), w)
		}
		out = append(out, w)
	}
	return out
}

func texts(list []Item) (out []string) {
	for _, i := range list {
		out = appendNew(out, i.Text)
	}
	slices.Sort(out)
	return out
}

// lastingWeakenings are those that the network is not asked about.
func (d *Document) lastingWeakenings() (out []string) {
	for _, w := range texts(d.Weaken) {
		if w != string(jail.WeakPrivateDestinations) && w != string(jail.WeakPassthrough) {
			out = append(out, w)
		}
	}
	return out
}

// Replace makes the Spec of a running jail under another policy: its rules,
// credentials and what belongs to them, all else as it is. was is the document in
// force, as it was named; running its Spec; req the request that made the jail,
// which counts on, with the secrets that come with this one. A document that differs in what cannot change is refused with
// the keys named. Errors are Errors.
func Replace(running *jail.Spec, was, doc *Document, req Request, facts Facts) (*jail.Spec, error) {
	rep := &report{}
	checkFixed(was, doc, req, rep)
	checkPinned(running, was, doc, rep)
	if err := rep.err(); err != nil {
		return nil, err
	}
	made, err := Compile(doc, req, facts)
	if err != nil {
		return nil, err
	}
	out := *running
	out.Policy, out.Weaken, out.Rules, out.Bindings = made.Policy, made.Weaken, made.Rules, made.Bindings
	out.OnMisuse, out.OnReflection, out.OnMinted, out.BodyCheck, out.Denied = made.OnMisuse, made.OnReflection, made.OnMinted, made.BodyCheck, made.Denied
	if running.Closed == nil || made.Closed != nil { // what was the operator's stays closed
		out.Closed = made.Closed
	}
	return &out, nil
}

func checkFixed(was, doc *Document, req Request, rep *report) {
	var keys []string
	for key, says := range fixed {
		if in := base(req.Cwd); !reflect.DeepEqual(says(was, in), says(doc, in)) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		rep.add(Error{Pos: Pos{File: doc.Ref.Origin}, Key: key, Code: "fixed",
			Msg: fmt.Sprintf("differs from policy %q, and cannot change in a running jail", was.Ref.Name),
			Fix: "only egress_rules, credential_proxy and what belongs to them can; else omnijailctl rm and create"})
	}
}

// checkPinned refuses a policy file that the jail could write: the next one to read
// it would read the jail's own words.
func checkPinned(running *jail.Spec, was, doc *Document, rep *report) {
	for _, f := range doc.Files {
		writable := slices.ContainsFunc(running.View.Grants, func(g jail.Grant) bool { return g.Write && jail.Within(g.Path, f) })
		if writable && !slices.Contains(was.Files, f) {
			rep.add(Error{Pos: Pos{File: f}, Code: "fixed", Msg: "lies where this jail can write, and is not the file that it was made with",
				Fix: "keep it outside of what the jail may write"})
		}
	}
}

// Difference is what another policy changes of a jail's network, in words.
type Difference struct {
	AllowsMore, AllowsLess         []string // rules
	Binds, Unbinds, BindsOtherwise []string // credentials
	Settings                       []string // what else changes
}

// Differ compares the network of two Specs.
func Differ(was, is *jail.Spec) (d Difference) {
	for _, r := range is.Rules {
		if !slices.Contains(ruleTexts(was), r.String()) {
			d.AllowsMore = appendNew(d.AllowsMore, r.String())
		}
	}
	for _, r := range was.Rules {
		if !slices.Contains(ruleTexts(is), r.String()) {
			d.AllowsLess = appendNew(d.AllowsLess, r.String())
		}
	}
	for _, b := range is.Bindings {
		switch i := slices.IndexFunc(was.Bindings, func(o creds.Binding) bool { return o.Name == b.Name }); {
		case i < 0:
			d.Binds = append(d.Binds, bindingText(b))
		case !sameBinding(was.Bindings[i], b):
			d.BindsOtherwise = append(d.BindsOtherwise, bindingText(b))
		}
	}
	for _, b := range was.Bindings {
		if !slices.ContainsFunc(is.Bindings, func(n creds.Binding) bool { return n.Name == b.Name }) {
			d.Unbinds = append(d.Unbinds, bindingText(b))
		}
	}
	for _, s := range []struct{ key, was, is string }{
		{"weaken", fmt.Sprint(was.Weaken), fmt.Sprint(is.Weaken)},
		{"deny_addresses", fmt.Sprint(was.Denied), fmt.Sprint(is.Denied)},
		{"on_misuse", was.OnMisuse, is.OnMisuse},
		{"on_reflection", was.OnReflection, is.OnReflection},
		{"on_minted", was.OnMinted, is.OnMinted},
		{"placeholder_in_body", bodyWord(was), bodyWord(is)},
	} {
		if s.was != s.is {
			d.Settings = append(d.Settings, fmt.Sprintf("%s: %s, was %s", s.key, s.is, s.was))
		}
	}
	return d
}

func ruleTexts(s *jail.Spec) (out []string) {
	for _, r := range s.Rules {
		out = append(out, r.String())
	}
	return out
}

func sameBinding(a, b creds.Binding) bool {
	a.Origin, b.Origin = "", ""
	return reflect.DeepEqual(a, b)
}

func bodyWord(s *jail.Spec) string {
	if s.BodyCheck {
		return "deny"
	}
	return "audit"
}

func bindingText(b creds.Binding) string {
	var hosts []string
	for _, t := range b.Targets {
		hosts = appendNew(hosts, t.Authority.Host()+t.Path)
	}
	return fmt.Sprintf("%s (%s to %s)", b.Name, b.Type, strings.Join(hosts, ", "))
}
