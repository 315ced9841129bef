package policy

import (
	"slices"

	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/jail"
)

// checkUnread holds the rules whose connections nobody reads against the rest of
// the policy: they need the weakening, cannot stand beside rules that would have
// to read, and never share a host with a credential, whose reply could come back
// that way.
func checkUnread(doc *Document, rep *report) {
	for i, r := range doc.Rules {
		key := index("egress_rules", i)
		if r.Unread && !slices.Contains(doc.weakenings(), jail.WeakPassthrough) {
			rep.add(Error{Pos: r.At, Key: key, Msg: "intercept: false passes connections on unread, which is a weakening", Fix: "weaken: [passthrough]"})
		}
		if r.Unread {
			checkAlone(r, key, doc.Rules, rep)
		}
		if r.Deny || !r.Unread && r.Scheme != egress.TCP {
			continue
		}
		for _, c := range doc.Credentials {
			for _, t := range c.Targets {
				if egress.MatchHost(r.Host, t.Authority.Host()) {
					rep.errorf(r.At, key, "%s is not read, and credential %s (%s) is for %s: a host with a credential is always read", r.Rule, c.Name, c.At, t.Authority.Host())
				}
			}
		}
	}
}

// checkAlone refuses an unread rule of exactly a host of which another rule wants
// more to be known: it would never have any effect.
func checkAlone(r Rule, key string, all []Rule, rep *report) {
	for _, other := range all {
		samePort := r.Port == other.Port || r.Port == 0 || other.Port == 0
		if !other.Unread && other.Scheme == egress.HTTPS && other.Host == r.Host && samePort {
			rep.errorf(r.At, key, "%s (%s) is for the same host and has to read what passes: take one of them out", other.Rule, other.At)
		}
	}
}
