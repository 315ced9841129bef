package creds

import (
	"net/url"
	"strings"

	"github.com/omnijail/omnijail/internal/egress"
)

// overrides are headers by which frameworks let a request be another method than
// the one that was judged.
var overrides = []string{"X-Http-Method", "X-Http-Method-Override", "X-Method-Override"}

// override is the same in a query.
const override = "_method"

// overrides reports whether a request for a bound host carries a second method.
// It is refused there whether it lies inside a binding or not: where the origin
// obeys it, neither rules nor methods of bindings say what is done.
func (t *Table) overrides(q Request) bool {
	bound := false
	for _, r := range t.all() {
		bound = bound || !r.dropped.Load() && r.boundTo(q.Authority)
	}
	return bound && q.Scheme == egress.HTTPS && carriesMethod(q)
}

func carriesMethod(q Request) bool {
	for _, name := range overrides {
		if present(q.Header, name) {
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
