package egress

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// MaxRules is the most rules that Compile accepts.
const MaxRules = 2000

// Rules is a compiled set of rules. It is immutable and safe for concurrent use.
// The nil and the empty set refuse everything.
type Rules struct {
	rules    []compiled
	exact    map[string][]int // host or address to rules
	wildcard map[string][]int // "example.com" of *.example.com to rules
	open     []int            // of OpenRules
}

// PrefersHTTP2 reports whether a rule for a asks for HTTP/2 where a client offers
// HTTP/1.1 as well.
func (rs *Rules) PrefersHTTP2(a Authority) bool {
	if rs.Len() == 0 {
		return false
	}
	for r := range rs.forHost(a.Host()) {
		if r.PreferHTTP2 && r.coversPort(a.port) {
			return true
		}
	}
	return false
}

// compiled is a rule with its globs taken apart.
type compiled struct {
	Rule
	place  int      // in Compile's input
	quoted string   // String, for verdicts
	glob   []string // segments of Path, nil when the rule takes any path
	loose  []string // the same for a deny rule, see loosen
}

// Compile checks the rules and indexes them by host. Errors name the rule.
func Compile(rules []Rule) (*Rules, error) {
	if len(rules) > MaxRules {
		return nil, fmt.Errorf("egress: %d rules, more than %d", len(rules), MaxRules)
	}
	rs := &Rules{exact: map[string][]int{}, wildcard: map[string][]int{}}
	for i, r := range rules {
		canon, err := r.canonical()
		if err != nil {
			return nil, fmt.Errorf("egress rule %d (%.200q): %w", i+1, r.Text, err)
		}
		rs.rules = append(rs.rules, compileRule(canon, i))
		if canon.Open {
			rs.open = append(rs.open, i)
			continue
		}
		index, key := rs.exact, canon.Host
		if suffix, ok := strings.CutPrefix(canon.Host, "*."); ok {
			index, key = rs.wildcard, suffix
		}
		index[key] = append(index[key], i)
	}
	return rs, nil
}

func compileRule(r Rule, place int) compiled {
	c := compiled{Rule: r, place: place, quoted: strconv.Quote(r.String())}
	if r.Scheme == TCP || r.Path == AnyPath {
		return c
	}
	c.glob = segments(r.Path)
	if r.Deny {
		c.loose = segments(loosen(r.Path, "*?"))
	}
	return c
}

// Len returns the number of rules.
func (rs *Rules) Len() int {
	if rs == nil {
		return 0
	}
	return len(rs.rules)
}

// Rule returns rule i of Compile's input in canonical form.
func (rs *Rules) Rule(i int) Rule { return rs.rules[i].Rule }

// forHost yields the rules whose host pattern covers host: the exact ones, then
// those of *.d for each d that host equals or lies below, then the open ones. The cost depends on the
// labels of host, not on the number of rules.
func (rs *Rules) forHost(host string) iter.Seq[*compiled] {
	return func(yield func(*compiled) bool) {
		if rs == nil {
			return
		}
		for _, i := range rs.exact[host] {
			if !yield(&rs.rules[i]) {
				return
			}
		}
		for d, more := host, len(rs.wildcard) > 0; more; _, d, more = strings.Cut(d, ".") {
			for _, i := range rs.wildcard[d] {
				if !yield(&rs.rules[i]) {
					return
				}
			}
		}
		if len(rs.open) == 0 || !coveredByOpen(host) {
			return
		}
		for _, i := range rs.open {
			if !yield(&rs.rules[i]) {
				return
			}
		}
	}
}

// AllowsName reports whether a rule could allow some request to the name: the
// question of the DNS stub. The name must come from ParseHost.
func (rs *Rules) AllowsName(host string) bool {
	var allows, denies []*compiled
	for r := range rs.forHost(host) {
		switch {
		case !r.Deny:
			allows = append(allows, r)
		case r.wholeHost():
			denies = append(denies, r)
		}
	}
	return slices.ContainsFunc(allows, func(a *compiled) bool {
		return !slices.ContainsFunc(denies, func(d *compiled) bool {
			return d.Scheme == a.Scheme && (d.Port == 0 || d.Port == a.Port)
		})
	})
}

// wholeHost reports whether nothing but scheme and port limits the rule.
func (r *compiled) wholeHost() bool {
	return r.Methods == nil && r.glob == nil && len(r.Query) == 0
}

// Reaches reports whether some rule could allow an HTTPS request to a with one of
// the methods (nil: any) and a path of the glob. Policies ask it so that a
// credential which nothing could ever use is an error.
func (rs *Rules) Reaches(a Authority, methods []string, glob string) bool {
	for r := range rs.forHost(a.Host()) {
		if !r.Deny && r.Scheme == HTTPS && r.coversPort(a.port) &&
			MethodsMeet(r.Methods, methods) && GlobsMeet(r.Path, glob) {
			return true
		}
	}
	return false
}

func (r *compiled) coversPort(port uint16) bool { return r.Port == 0 || r.Port == port }

// MethodsMeet reports whether two method lists share one; nil is any.
func MethodsMeet(a, b []string) bool {
	return a == nil || b == nil || slices.ContainsFunc(a, func(m string) bool { return slices.Contains(b, m) })
}
