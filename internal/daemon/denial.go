package daemon

import (
	"fmt"
	"strings"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/internal/jail"
)

// record turns an event of the egress process into a line of the journal. Rule
// and credential are looked up here by number: the process cannot put words in
// the daemon's mouth.
func (j *liveJail) record(e wire.Event) (audit.Record, error) {
	spec := j.spec
	for _, i := range []int32{e.Rule, e.Nearest} {
		if int(i) >= len(spec.Rules) {
			return audit.Record{}, fmt.Errorf("%w: a rule that the jail does not have", wire.ErrProtocol)
		}
	}
	if int(e.Binding) >= len(spec.Bindings) {
		return audit.Record{}, fmt.Errorf("%w: a binding that the jail does not have", wire.ErrProtocol)
	}
	rec := audit.Record{
		Kind: e.Kind, Jail: j.id.String(), UID: j.owner, Policy: spec.Policy.Name, ID: e.ID,
		Authority: audit.Escape(e.Authority), Method: audit.Escape(e.Method), Path: audit.Escape(e.Path),
		Decision: e.Decision, Code: string(e.Code), Status: int(e.Status),
		BytesIn: e.BytesIn, BytesOut: e.BytesOut, Millis: e.Millis, By: "egress",
	}
	if rec.Authority == "" {
		rec.Authority = audit.Escape(e.Name)
	}
	if e.Binding >= 0 {
		rec.Credential = spec.Bindings[e.Binding].Name
	}
	if r := e.Rule; r >= 0 {
		rec.Rule, rec.Origin = spec.Rules[r].String(), spec.Rules[r].Origin
	} else if n := e.Nearest; n >= 0 {
		rec.Rule, rec.Origin = spec.Rules[n].String(), spec.Rules[n].Origin
	}
	if e.Decision == audit.Deny {
		rec.Reason = reason(spec, e)
		rec.Fix = fix(spec, e)
	}
	return rec, nil
}

// what names the request the way a rule would.
func what(r audit.Record) string {
	switch {
	case r.Kind == audit.KindDNS || r.Kind == audit.KindConnect || r.Method == "":
		return r.Authority
	}
	host := r.Authority
	if a, err := egress.ParseAuthority(host, 443); err == nil && a.Port() == 443 {
		host = a.Host()
	}
	return r.Method + " " + host + r.Path
}

// reasons are the words for the codes that need no more than a word.
var reasons = map[audit.Code]string{
	audit.CodeIPLiteral:       "an address without a name: no rule lists it",
	audit.CodeAuthority:       "the request names another host than the connection",
	audit.CodeBadRequest:      "not a request that can be forwarded safely",
	audit.CodeMethod:          "this method is never forwarded",
	audit.CodePlainHTTP:       "plain http: no http:// rule allows it",
	audit.CodeRawTCP:          "neither TLS nor HTTP: no tcp:// rule allows it",
	audit.CodeTLS:             "the TLS handshake was not one we can serve",
	audit.CodeTLSClient:       "the client does not trust this jail's CA",
	audit.CodePlaceholder:     "a placeholder was sent where it does not belong",
	audit.CodeForeign:         "the request carries a credential of its own, and the policy says foreign: deny",
	audit.CodeCredential:      "the credential for it could not be had",
	audit.CodePrivate:         "it resolves to a private address",
	audit.CodeMetadata:        "it resolves to a metadata address, which is never allowed",
	audit.CodeOwnAddress:      "it resolves to an address of this node",
	audit.CodeUpstreamDNS:     "the name does not resolve",
	audit.CodeUpstreamConnect: "the upstream cannot be reached",
	audit.CodeUpstreamTLS:     "the upstream's certificate is not valid for it",
	audit.CodeUpstreamTimeout: "the upstream did not answer in time",
	audit.CodeUpstreamProto:   "the upstream's answer is not HTTP",
	audit.CodeBodyTooLarge:    "the body is larger than the rule allows",
	audit.CodeHeaders:         "too many headers",
	audit.CodeFlood:           "too many requests at once",
	audit.CodeAudit:           "the record of it could not be written",
	audit.CodeFrozen:          "this jail's network is frozen after a misused placeholder",
	audit.CodeLater:           "this build does not carry it (WebSocket and other upgrades)",
}

func reason(spec *jail.Spec, e wire.Event) string {
	switch e.Code {
	case audit.CodeNoNetwork:
		return "no network: the policy has no rules"
	case audit.CodeNoRule, audit.CodeNameDenied:
		if e.Nearest >= 0 {
			r := spec.Rules[e.Nearest]
			return fmt.Sprintf("no rule allows it (nearest: %q, %s)", r.String(), r.Origin)
		}
		return "no rule allows it"
	case audit.CodeDenyRule:
		if e.Rule >= 0 {
			r := spec.Rules[e.Rule]
			return fmt.Sprintf("a rule denies it (%q, %s)", r.String(), r.Origin)
		}
		return "a rule denies it"
	case audit.CodeSSH:
		return "ssh is not carried; this jail rewrites git@HOST: to https for hosts with a git credential"
	}
	if text, ok := reasons[e.Code]; ok {
		return text
	}
	return string(e.Code)
}

// fix is what the owner may type. It is never shown inside the jail, and every
// foreign string in it is quoted by the one function for that.
func fix(spec *jail.Spec, e wire.Event) string {
	allow := func(rule string) string {
		// A glob in what the jail sent would allow more than what was refused.
		if strings.ContainsAny(e.Path+e.Name, "*?") {
			return ""
		}
		if _, err := egress.ParseRule(rule); err != nil {
			return "" // a target that no rule can name has no ready command
		}
		return "omnijailctl exec --allow " + audit.ShellQuote(rule) + " -- …"
	}
	switch e.Code {
	case audit.CodeNoNetwork:
		return "omnijailctl exec --preset github-read -- … or: omnijailctl init"
	case audit.CodeNoRule:
		a, err := egress.ParseAuthority(e.Authority, 443)
		if err != nil {
			return ""
		}
		host := a.Host()
		if a.Port() != 443 {
			host = a.String()
		}
		return allow(e.Method + " " + host + e.Path)
	case audit.CodeNameDenied:
		return allow("GET,HEAD " + e.Name + "/**")
	case audit.CodePrivate:
		return "the operator can allow it once: egress.private in /etc/omnijail/omnijaild.yaml; or here: allow_private on the rule"
	}
	return ""
}
