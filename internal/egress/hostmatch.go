package egress

import "strings"

// MatchHost reports whether a host pattern, a name or *.name, covers a host. Both
// are in canonical form. As in a rule, *.d covers d itself and every name below.
func MatchHost(pattern, host string) bool {
	if suffix, ok := strings.CutPrefix(pattern, "*."); ok {
		return host == suffix || strings.HasSuffix(host, "."+suffix)
	}
	return pattern == host
}
