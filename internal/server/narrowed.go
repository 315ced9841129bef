package server

import (
	"fmt"
	"slices"
	"strings"

	"github.com/omnijail/omnijail/internal/config"
	"github.com/omnijail/omnijail/internal/daemon"
	"github.com/omnijail/omnijail/internal/egress"
)

// narrowed says why a jail reaches by the operator's earlier word what it would not by
// set, or nothing. What its rules do not lead to is no matter.
func narrowed(h daemon.Holding, set *config.Config) string {
	if h.Under == nil || len(h.Spec.Rules) == 0 {
		return "" // it has not been told of a network, or has none
	}
	policy := h.Spec.Policy.Name
	if h.Spec.Policy.Own {
		policy = "" // the operator's configuration knows none of that name
	}
	now := set.Upstream.For(h.User.UID, h.User.Name, policy)
	for name, at := range h.Under.Upstream.For(h.User.UID, h.User.Name, policy) {
		if a, err := egress.ParseAuthority(name, 0); err == nil && now[name] != at && reaches(h, a.Host()) {
			return fmt.Sprintf("ended: upstream.hosts leads %s elsewhere now", name)
		}
	}
	for _, p := range h.Under.Egress.Private {
		if !slices.Contains(set.Egress.Private, p) && reaches(h, p.Host) {
			return fmt.Sprintf("ended: egress.private does not open %s for %s any more", p.CIDR, p.Host)
		}
	}
	for _, f := range h.Under.Upstream.CAFiles {
		if !slices.Contains(set.Upstream.CAFiles, f) {
			return fmt.Sprintf("ended: the roots of %s are not believed any more", f)
		}
	}
	if p := set.Upstream.Proxy; p != "" && p != h.Under.Upstream.Proxy {
		return "ended: the way out is another proxy now"
	}
	return ""
}

// reaches reports whether a rule could allow a host that pattern covers.
func reaches(h daemon.Holding, pattern string) bool {
	for _, r := range h.Spec.Rules {
		if !r.Deny && (r.Open || egress.MatchHost(pattern, plain(r.Host)) || egress.MatchHost(r.Host, plain(pattern))) {
			return true
		}
	}
	return false
}

// plain is one host that a pattern covers.
func plain(pattern string) string { return strings.TrimPrefix(pattern, "*.") }
