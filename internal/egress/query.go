package egress

import (
	"net/url"
	"strings"
)

// matchQuery reports whether a raw query satisfies a rule's list. For an allow
// rule each listed key must be there and all its values match, since servers
// differ in which of several they take; for a deny rule one value is enough, and
// so is a query that cannot be decoded.
func matchQuery(want map[string]string, raw string, deny bool) bool {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return deny
	}
	for key, glob := range want {
		if !matchValues(glob, lookup(values, key, deny), deny) {
			return false
		}
	}
	return true
}

// lookup returns the values of a key, in any case of letters when fold is set.
func lookup(values url.Values, key string, fold bool) []string {
	if !fold {
		return values[key]
	}
	var out []string
	for k, vs := range values {
		if strings.EqualFold(k, key) {
			out = append(out, vs...)
		}
	}
	return out
}

func matchValues(glob string, values []string, deny bool) bool {
	for _, v := range values {
		if ok := matchValue(glob, v); ok == deny {
			return deny
		}
	}
	return len(values) > 0 && !deny
}

// matchValue matches a decoded value: * is any run of characters, ? any byte.
func matchValue(glob, s string) bool {
	g, i := 0, 0
	star, mark := -1, 0
	for i < len(s) {
		switch {
		case g < len(glob) && glob[g] == '*':
			star, mark = g, i
			g++
		case g < len(glob) && (glob[g] == '?' || glob[g] == s[i]):
			g++
			i++
		case star >= 0:
			mark++
			g, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(glob[g:], "*") == ""
}
