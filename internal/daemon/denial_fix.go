package daemon

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/internal/guard"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/policy"
)

// fix is what the owner may type. It is never shown inside the jail, and every
// foreign string in it is quoted by the one function for that. It is empty for
// what no line of a policy mends.
func fix(spec *jail.Spec, e wire.Event) string {
	if len(spec.Rules) == 0 && spec.Policy.Fallback && e.Code != audit.CodePacket {
		return "omnijailctl exec --preset github-read -- … or: omnijailctl init"
	}
	switch e.Code {
	case audit.CodeNoRule, audit.CodeNoNetwork, audit.CodeIPLiteral:
		if n := e.Nearest; n >= 0 && spec.Rules[n].Scheme == egress.HTTP {
			return allowRequest(e, egress.HTTP, "http://")
		}
		return allowRequest(e, egress.HTTPS, "")
	case audit.CodePlainHTTP:
		return allowRequest(e, egress.HTTP, "http://")
	case audit.CodeRawTCP:
		if a, err := egress.ParseAuthority(e.Authority, 443); err == nil {
			return allow(e, "tcp://"+a.String())
		}
	case audit.CodeNameDenied:
		return allow(e, "GET,HEAD "+e.Name+"/**")
	case audit.CodePacket:
		if e.Method == "TCP" {
			return allow(e, "GET,HEAD "+e.Name+"/**")
		}
	case audit.CodePrivate:
		return "the operator can allow it once: egress.private in /etc/omnijail/omnijaild.yaml; or here: allow_private: [" + network(e.Address) + "]"
	case audit.CodeSSH:
		if host := hostOf(e.Authority); !slices.Contains(gitHosts(spec.Bindings, nil), host) {
			return "git remote set-url origin https://" + host + "/OWNER/REPO"
		}
	case audit.CodeDenyRule, audit.CodeBodyTooLarge:
		if e.Rule >= 0 {
			r := spec.Rules[e.Rule]
			if e.Code == audit.CodeBodyTooLarge {
				return fmt.Sprintf("max_body: in the rule %s, larger", policy.Quote(r.String()))
			}
			return fmt.Sprintf("that rule would have to go: %s", policy.Quote(r.String()))
		}
	case audit.CodeForeign:
		a, err := egress.ParseAuthority(e.Authority, 443)
		for _, b := range spec.Bindings {
			if err == nil && slices.ContainsFunc(b.Targets, func(t creds.Target) bool { return t.Authority == a }) {
				return "foreign: forward in the credential " + policy.Quote(b.Name)
			}
		}
	case audit.CodeCredential:
		if e.Binding >= 0 {
			return mend(spec.Bindings[e.Binding].Sources)
		}
	}
	return ""
}

// allowRequest is the command that allows one request and nothing else.
func allowRequest(e wire.Event, scheme egress.Scheme, prefix string) string {
	a, err := egress.ParseAuthority(e.Authority, scheme.Port())
	if err != nil || e.Method == "" {
		return ""
	}
	if ip, err := netip.ParseAddr(a.Host()); err == nil && guard.MetadataAddr(ip) {
		return "" // no rule opens it: clients of clouds ask there for credentials, unasked
	}
	host := a.Host()
	if a.Port() != scheme.Port() || strings.Contains(host, ":") {
		host = a.String()
	}
	return allow(e, e.Method+" "+prefix+host+e.Path)
}

// allow is the command that adds a rule, if there is such a rule and it means what
// was refused.
func allow(e wire.Event, rule string) string {
	// A glob in what the jail sent would allow more than what was refused.
	if strings.ContainsAny(e.Path+e.Name, "*?") {
		return ""
	}
	if _, err := egress.ParseRule(rule); err != nil {
		return "" // a target that no rule can name has no ready command
	}
	return "omnijailctl exec --allow " + audit.ShellQuote(rule) + " -- …"
}

// network is a network around an address that an operator may mean.
func network(a netip.Addr) string {
	bits := 16
	if a.Is6() {
		bits = 48
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return "CIDR"
	}
	return p.String()
}
