package suggest

import (
	"slices"
	"strings"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

// asked is what was refused of one authority: paths by method.
type asked struct {
	at    egress.Authority
	paths map[string][]string
}

// mostPaths bounds the different paths of one method that are looked at: the root
// daemon reads here what jails wrote, and must not do so for long.
const mostPaths = 500

// requests returns rules for the refused requests.
func (s *Suggestion) requests(recs []audit.Record) (rules []string) {
	var order []*asked
	by := map[egress.Authority]*asked{}
	known := map[string]bool{} // hosts that were first seen in something else than a refused write
	var names []string
	for _, r := range recs {
		switch {
		case r.Kind == audit.KindDNS && r.Decision == audit.Deny:
			names = appendNew(names, r.Authority)
		case r.Kind == audit.KindRequest:
			at, ok := s.request(r, known)
			if !ok {
				continue
			}
			a := by[at]
			if a == nil {
				a = &asked{at: at, paths: map[string][]string{}}
				by[at] = a
				order = append(order, a)
			}
			if len(a.paths[r.Method]) == mostPaths {
				s.leave("%s %s: more than %d different paths", r.Method, a.at.Host(), mostPaths)
				continue
			}
			a.paths[r.Method] = appendNew(a.paths[r.Method], r.Path)
		}
	}
	for _, a := range order {
		rules = append(rules, s.rules(a)...)
	}
	for _, name := range names {
		if known[name] {
			continue
		}
		text := "GET,HEAD " + name + "/**"
		if _, err := egress.ParseRule(text); err != nil {
			s.leave("%s: no rule can name it", name)
			continue
		}
		rules = append(rules, text)
		s.because("%s: its name was asked for and refused, so what was wanted of it is not known; this lets it be read", name)
	}
	return rules
}

// request returns the authority that a refused request was for, if a rule for it
// may be proposed.
func (s *Suggestion) request(r audit.Record, known map[string]bool) (egress.Authority, bool) {
	at, err := egress.ParseAuthority(r.Authority, egress.HTTPS.Port())
	if err != nil {
		return at, false
	}
	if reads(r.Method) || r.Decision == audit.Allow || ruleNames(r.Rule, at.Host()) {
		known[at.Host()] = true
	}
	if r.Decision != audit.Deny {
		return at, false
	}
	what := r.Method + " " + hostPort(at) + r.Path
	switch code := audit.Code(r.Code); {
	case code == audit.CodeDenyRule:
		s.leave("%s: a rule denies it (%s)", what, r.Rule)
	case code != audit.CodeNoRule && code != audit.CodeNoNetwork:
		s.leave("%s: no rule would let it pass (%s)", what, r.Code)
	case !known[at.Host()]:
		s.leave("%s: its host was first seen in a refused write", what)
	case !literal(r.Path):
		s.leave("%s: its path cannot stand in a rule as it is", what)
	default:
		return at, true
	}
	return at, false
}

// hostPort is an authority as a rule writes it.
func hostPort(a egress.Authority) string {
	if a.Port() == egress.HTTPS.Port() {
		return a.Host()
	}
	return a.String()
}

// reads reports whether a method asks for nothing to be changed.
func reads(method string) bool {
	return method == "GET" || method == "HEAD" || method == "OPTIONS"
}

// ruleNames reports whether the policy's own rule that was nearest names this very
// host: a wildcard is not enough.
func ruleNames(text, host string) bool {
	text, _, _ = strings.Cut(text, " (")
	r, err := egress.ParseRule(text)
	return err == nil && r.Host == host
}

// literal reports whether a path means itself in a rule. One that was cut or
// escaped for the journal is not the path that was asked for.
func literal(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.ContainsAny(path, "*?[]{} \t\"…\\")
}

// rules makes the rules for one authority, the methods of the same paths in one.
func (s *Suggestion) rules(a *asked) (rules []string) {
	methods := map[string][]string{}
	stands := map[string]int{} // requests by glob
	var globs []string
	for _, m := range egress.Methods {
		for _, g := range generalise(a.paths[m], reads(m)) {
			globs = appendNew(globs, g)
			methods[g] = append(methods[g], m)
			for _, p := range a.paths[m] {
				if egress.MatchPath(g, p) {
					stands[g]++
				}
			}
		}
	}
	for _, g := range globs {
		text := strings.Join(methods[g], ",") + " " + hostPort(a.at) + g
		if !allows(text, a, methods[g], g) {
			s.leave("%s: not a rule", text)
			continue
		}
		rules = append(rules, text)
		s.because("%s: %d refused", text, stands[g])
	}
	return rules
}

// allows holds a rule against the decision function: it must let pass what it was
// made for.
func allows(text string, a *asked, methods []string, glob string) bool {
	rule, err := egress.ParseRule(text)
	if err != nil {
		return false
	}
	rs, err := egress.Compile([]egress.Rule{rule})
	if err != nil {
		return false
	}
	for _, m := range methods {
		for _, p := range a.paths[m] {
			if egress.MatchPath(glob, p) && !rs.Decide(egress.Request{Scheme: egress.HTTPS, Method: m, Authority: a.at, Path: p}).Allow {
				return false
			}
		}
	}
	return true
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
