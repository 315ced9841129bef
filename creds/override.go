package creds

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/omnijail/omnijail/internal/egress"
)

// overrides are headers by which servers and frameworks let a request be another one
// than was judged: by another method, or for another path.
var overrides = []string{"X-Http-Method", "X-Http-Method-Override", "X-Method-Override", "X-Original-Url", "X-Rewrite-Url"}

// override is the same for the method in a query.
const override = "_method"

// overrides reports whether a request for a bound host carries a second method or
// path, or a bound header in another spelling. It is refused there whether it lies
// inside a binding or not: where the origin obeys it, neither rules nor bindings say
// what is done, or as whom.
func (t *Table) overrides(q Request) bool {
	bound, spelled := false, respelled(q.Header)
	for _, r := range t.all() {
		if r.dropped.Load() || !r.boundTo(q.Authority) {
			continue
		}
		bound = true
		name := r.HeaderName()
		if slices.Contains(spelled, name) || dashed(name) != name && present(q.Header, dashed(name)) {
			return true
		}
	}
	return bound && q.Scheme == egress.HTTPS && carriesOverride(q, spelled)
}

func carriesOverride(q Request, spelled []string) bool {
	for _, name := range overrides {
		if present(q.Header, name) || slices.Contains(spelled, name) {
			return true
		}
	}
	_, query, _ := strings.Cut(q.RawTarget, "?")
	for field := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		key, _, _ := strings.Cut(field, "=")
		if plain, err := url.QueryUnescape(key); err == nil && strings.EqualFold(plain, override) {
			return true
		}
	}
	return false
}

// respelled returns what servers which follow CGI take fields of h for: to them "_"
// and "-" are the same.
func respelled(h http.Header) (names []string) {
	for name := range h {
		if strings.Contains(name, "_") {
			names = append(names, dashed(name))
		}
	}
	return names
}

func dashed(name string) string {
	return http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
}
