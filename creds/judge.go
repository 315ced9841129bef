package creds

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/omnijail/omnijail/internal/egress"
)

// Request is what is judged, after hop-by-hop headers are gone and before
// anything is added.
type Request struct {
	Scheme    egress.Scheme
	Method    string
	Authority egress.Authority
	Path      string // as egress.NormalizePath returned it
	RawTarget string // the target as the client wrote it, query included
	Header    http.Header
	Signed    bool // its query is a captured one, put back
}

// Action is what becomes of a request. The zero Action refuses.
type Action int

// The actions.
const (
	RefusePlaceholder Action = iota // 403, one body for all
	RefuseForeign                   // 403: the client's own credential, and foreign: deny
	RefusePath                      // 400: the path has two readings and a binding has a path
	RefuseMethod                    // 405: CONNECT and TRACE
	Forward                         // as it is
	Strip                           // without the headers of Remove
	Attach                          // with the binding's credential, without the headers of Remove
	RefuseOverride                  // 403: a second method, path or spelling, to a bound host
	Exchange                        // with a captured token in the place of its placeholder, without the headers of Remove
)

func (a Action) String() string {
	return [...]string{"refuse placeholder", "refuse foreign", "refuse path", "refuse method",
		"forward", "strip", "attach", "refuse override", "exchange"}[a]
}

// Verdict is the decision on a Request.
type Verdict struct {
	Action  Action
	Binding int      // the binding concerned, -1 when none is
	Target  Target   // of an attachment: says how the value is rendered
	Token   Token    // of an exchange
	Replace []string // headers whose placeholder the attachment replaces
	Remove  []string // headers to delete
	Foreign bool     // the client set a credential of its own for a bound host
	Where   string   // where a placeholder was found: "target", "header Cookie"
}

// Judge makes the whole decision: placeholders first, then the client's own
// credentials, then whether the request lies inside a binding.
func (t *Table) Judge(q Request) Verdict {
	if q.Method == http.MethodConnect || q.Method == http.MethodTrace {
		return Verdict{Action: RefuseMethod, Binding: -1}
	}
	in := t.inside(q)
	token, earnedBy, captured := t.tokenIn(q)
	placed, where := in.placeholders(q, token.header)
	switch {
	case where != "":
		return Verdict{Action: RefusePlaceholder, Binding: -1, Where: where}
	case in.ambiguous:
		return Verdict{Action: RefusePath, Binding: in.binding}
	case t.overrides(q), (captured || q.Signed) && carriesOverride(q, respelled(q.Header)):
		return Verdict{Action: RefuseOverride, Binding: -1}
	}
	v := t.foreign(q, cmp.Or(token.header, placed))
	switch {
	case v.Action == RefuseForeign:
		return v
	case captured:
		v.Action, v.Binding, v.Token = Exchange, earnedBy, token
	case in.row != nil && attachable(v, q.Header, in.HeaderName(), placed):
		v.Action, v.Binding, v.Target = Attach, in.binding, in.target
		if placed != "" {
			v.Replace = []string{placed}
		}
	case len(v.Remove) > 0:
		v.Action = Strip
	}
	return v
}

// attachable reports whether the credential's header is free: not set, empty,
// holding the placeholder, or to be stripped.
func attachable(v Verdict, h http.Header, name, placed string) bool {
	return name == placed || !present(h, name) || slices.Contains(v.Remove, name)
}

// Header returns name and value of the header that a verdict to attach sets.
func (t *Table) Header(v Verdict, secret []byte) (name, value string) {
	b := t.rows[v.Binding].Binding
	return b.HeaderName(), Render(v.Target.Scheme, b.Username, b.Prefix, secret)
}

// match is the binding and target that a request lies inside of.
type match struct {
	*row      // nil when there is none
	binding   int
	target    Target
	ambiguous bool
}

// inside finds the one binding whose scheme, authority, port, method and path
// cover the request. CheckAll has made sure that there is one at most.
func (t *Table) inside(q Request) match {
	none := match{binding: -1}
	if q.Scheme != egress.HTTPS {
		return none
	}
	for i, r := range t.all() {
		if r.dropped.Load() || !r.takesMethod(q.Method) {
			continue
		}
		target, ok, ambiguous := r.targetFor(q)
		if ambiguous {
			none.ambiguous, none.binding = true, i
			continue
		}
		if ok {
			return match{row: r, binding: i, target: target}
		}
	}
	return none
}

// takesMethod refuses OPTIONS always: browsers send it without being asked.
func (r *row) takesMethod(m string) bool {
	if r.Methods == nil {
		return m != http.MethodOptions && slices.Contains(egress.Methods, m)
	}
	return m != http.MethodOptions && slices.Contains(r.Methods, m)
}

// targetFor returns the first target that covers the request. A path with two
// readings decides nothing: it is ambiguous, unless the binding has the host as a
// whole, where the path only chooses the rendering.
func (r *row) targetFor(q Request) (found Target, ok, ambiguous bool) {
	var scoped, whole bool
	for _, t := range r.Targets {
		if t.Authority != q.Authority {
			continue
		}
		scoped = scoped || t.scoped()
		whole = whole || !t.scoped()
		if !ok && egress.MatchPath(t.glob(), q.Path) {
			found, ok = t, true
		}
	}
	if scoped && !whole && egress.CheckPath(q.Path) != nil {
		return Target{}, false, true
	}
	return found, ok, false
}

// placeholders looks for placeholders everywhere in the request but in the header of
// a captured token. It returns the header that rightly carries the binding's own,
// unless there is such a token, and where one was found that has no business there.
func (in match) placeholders(q Request, token string) (placed, where string) {
	if Find(q.RawTarget) || Find(q.Path) {
		return "", "target"
	}
	if Find(q.Authority.Host()) {
		return "", "authority"
	}
	var wrong string // the first of them, by name
	for name, values := range q.Header {
		switch {
		case token != "" && name == token:
		case token == "" && in.row != nil && len(values) == 1 && in.carries(name, values[0]):
			placed = name
		case (wrong == "" || name < wrong) && (Find(name) || slices.ContainsFunc(values, Find)):
			wrong = name
		}
	}
	if wrong != "" {
		return "", "header " + wrong
	}
	return placed, ""
}

// foreign looks at credentials that the client set itself for any binding of this
// host, whatever its path and methods: an account of someone else's is a way out
// of the host as a whole.
func (t *Table) foreign(q Request, placed string) Verdict {
	v := Verdict{Action: Forward, Binding: -1}
	for i, r := range t.all() {
		name := r.HeaderName()
		if r.dropped.Load() || name == placed || !r.boundTo(q.Authority) || !present(q.Header, name) {
			continue
		}
		v.Foreign, v.Binding = true, i
		switch r.Foreign {
		case ForeignDeny:
			v.Action = RefuseForeign
			return v
		case ForeignStrip:
			v.Remove = append(v.Remove, name)
		}
	}
	return v
}

func (r *row) boundTo(a egress.Authority) bool {
	return slices.ContainsFunc(r.Targets, func(t Target) bool { return t.Authority == a })
}

// present reports whether a header is there and holds more than blanks: an empty
// one is no credential, and does not keep ours away.
func present(h http.Header, name string) bool {
	return slices.ContainsFunc(h[name], func(v string) bool { return strings.TrimSpace(v) != "" })
}
