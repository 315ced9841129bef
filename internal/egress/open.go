package egress

import (
	"errors"
	"net/netip"
)

// anyHost is the host of an open rule. No text of a rule can say it.
const anyHost = "*"

// OpenRules are what stands for the whole network: every name and address on every
// port, over https, http, and as a stream that is not inspected. The guard of
// addresses stays what it is, so what is reached is public. origin is the line that
// asked for it.
func OpenRules(origin string) []Rule {
	var out []Rule
	for _, s := range []Scheme{HTTPS, HTTP, TCP} {
		r := Rule{Origin: origin, Scheme: s, Host: anyHost, Open: true, WebSocket: s != TCP}
		if s != TCP {
			r.Path = AnyPath
		}
		r.Text = r.String()
		out = append(out, r)
	}
	return out
}

// checkOpen refuses an open rule that is not one of OpenRules.
func (r Rule) checkOpen() error {
	if r.Deny || r.Host != anyHost || r.Port != 0 || r.Methods != nil || len(r.Query) > 0 || r.MaxBody != 0 ||
		len(r.AllowPrivate) > 0 || r.PreferHTTP2 || r.Unread || r.Path != AnyPath && r.Scheme != TCP {
		return errors.New("a rule for the whole network has nothing but a scheme")
	}
	return nil
}

// coveredByOpen reports whether an open rule is about host: the jail's own loopback
// and what nothing is ever forwarded to are not.
func coveredByOpen(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return checkRuleAddr(ip) == nil
	}
	return checkRuleName(host) == nil
}

// OpensStream decides on a connection that is neither TLS nor HTTP and that no tcp
// rule allows. Where a rule says anything of the host, it is not the open network
// that decides: what nobody reads would go past that rule.
func (rs *Rules) OpensStream(a Authority) Verdict {
	v := Verdict{Index: -1, Nearest: -1}
	if rs.Len() == 0 {
		return v
	}
	for r := range rs.forHost(a.Host()) {
		switch {
		case !r.Open:
			return Verdict{Index: -1, Nearest: -1}
		case r.Scheme == TCP:
			v.add(r)
		}
	}
	return v
}
