package egress

import (
	"fmt"
	"slices"
	"strings"
)

// wayOut is a request of a well-known API that does more than its rule says: it
// publishes, has the server fetch or send for the jail, or makes something that
// outlives the jail.
type wayOut struct {
	methods string
	host    string
	path    string // a glob
	does    string
}

const (
	publishes = "publish to anybody"
	outlives  = "make what outlives the jail"
	fetches   = "let the server fetch and send for the jail"
	anything  = "do what the token may, whatever the paths of rules"
)

// waysOut are the best known. No list of them is whole: what an allowed host does
// with a request is its own affair, and only narrow rules help.
var waysOut = []wayOut{
	{"POST", "api.github.com", "/graphql", anything},
	{"POST,PATCH", "api.github.com", "/gists/**", publishes},
	{"POST", "api.github.com", "/user/repos", publishes},
	{"POST", "api.github.com", "/user/*keys", outlives},
	{"POST,PATCH", "api.github.com", "/repos/*/*/hooks/**", outlives},
	{"POST", "api.github.com", "/repos/*/*/keys", outlives},
	{"PUT", "api.github.com", "/repos/*/*/collaborators/*", outlives},
	{"PUT", "api.github.com", "/repos/*/*/actions/secrets/*", outlives},
	{"POST", "api.github.com", "/repos/*/*/actions/runners/**", outlives},
	{"POST", "gitlab.com", "/api/graphql", anything},
	{"POST", "gitlab.com", "/api/v4/snippets", publishes},
	{"POST", "gitlab.com", "/api/v4/user/keys", outlives},
	{"POST", "gitlab.com", "/api/v4/projects/*/hooks", outlives},
	{"POST", "gitlab.com", "/api/v4/projects/*/access_tokens", outlives},
	{"POST", "api.anthropic.com", "/v1/messages", fetches},
	{"POST", "api.openai.com", "/v1/responses", fetches},
	{"PUT", "registry.npmjs.org", "/*", publishes},
	{"POST", "upload.pypi.org", "/legacy/**", publishes},
}

// Notes says which of the best known ways out the rules allow, in one note for each
// host and effect, with a rule that takes the first one out.
func (rs *Rules) Notes() (notes []string) {
	type group struct{ host, does string }
	var order []group
	found := map[group][]wayOut{}
	for _, w := range waysOut {
		if !rs.opens(w) {
			continue
		}
		g := group{w.host, w.does}
		if found[g] == nil {
			order = append(order, g)
		}
		found[g] = append(found[g], w)
	}
	for _, g := range order {
		var all []string
		for _, w := range found[g] {
			all = append(all, w.methods+" "+w.path)
		}
		first := found[g][0]
		notes = append(notes, fmt.Sprintf("%s: %s %s; where that is not wanted: %q",
			g.host, strings.Join(all, ", "), g.does, "!"+first.methods+" "+first.host+first.path))
	}
	return notes
}

// opens reports whether some request of w is allowed.
func (rs *Rules) opens(w wayOut) bool {
	a, err := AuthorityFrom(w.host, HTTPS.Port())
	if err != nil {
		return false
	}
	for r := range rs.forHost(w.host) {
		if r.Deny || r.Scheme != HTTPS || !GlobsMeet(r.Path, w.path) {
			continue
		}
		for m := range strings.SplitSeq(w.methods, ",") {
			if rs.Decide(Request{Scheme: HTTPS, Method: m, Authority: a, Path: example(w.path, r.Path)}).Allow {
				return true
			}
		}
	}
	return false
}

// example is a path that two globs match, the first of which has no wildcards but
// whole segments. A rule's own names come before invented ones.
func example(glob, rule string) string {
	theirs := strings.Split(rule, "/")
	var out []string
	for i, part := range strings.Split(glob, "/") {
		switch {
		case part == "**":
			continue
		case strings.Contains(part, "*") && i < len(theirs) && !slices.Contains(theirs[:i+1], "**") && !strings.ContainsAny(theirs[i], "*?"):
			part = theirs[i]
		case strings.Contains(part, "*"):
			part = strings.ReplaceAll(part, "*", "x")
		}
		out = append(out, part)
	}
	return strings.Join(out, "/")
}
