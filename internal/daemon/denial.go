package daemon

import (
	"crypto/tls"
	"fmt"
	"slices"
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
	spec, err := j.specOf(e.Generation)
	if err != nil {
		return audit.Record{}, err
	}
	if spec == nil { // what it says of rules cannot be looked up any more
		spec = &jail.Spec{Policy: j.spec().Policy}
		e.Rule, e.Nearest, e.Binding = -1, -1, -1
	}
	for _, i := range []int32{e.Rule, e.Nearest} {
		if int(i) >= len(spec.Rules) {
			return audit.Record{}, fmt.Errorf("%w: a rule that the jail does not have", wire.ErrProtocol)
		}
	}
	if int(e.Binding) >= len(spec.Bindings) {
		return audit.Record{}, fmt.Errorf("%w: a binding that the jail does not have", wire.ErrProtocol)
	}
	rec := audit.Record{
		Kind: e.Kind, Jail: j.id.String(), UID: j.owner, Policy: spec.Policy.Name, Generation: e.Generation, ID: e.ID,
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
		rec.Fix = j.fixFor(fix(spec, e))
	}
	return rec, nil
}

// what names the request the way a rule would.
func what(r audit.Record) string {
	switch {
	case r.Kind == audit.KindPacket:
		return strings.TrimSuffix(r.Method+" "+r.Authority, " ")
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
	audit.CodeDeniedAddress:   "it resolves to an address that deny_addresses names",
	audit.CodeUpstreamDNS:     "the name does not resolve",
	audit.CodeUpstreamConnect: "the upstream cannot be reached",
	audit.CodeUpstreamTLS:     "the upstream's certificate is not valid for it",
	audit.CodeUpstreamTimeout: "the upstream did not answer in time",
	audit.CodeUpstreamProto:   "the upstream's answer is not HTTP",
	audit.CodeBodyTooLarge:    "the body is larger than the rule allows",
	audit.CodeHeaders:         "too many headers",
	audit.CodeFlood:           "too many requests at once",
	audit.CodeAudit:           "the record of it could not be written",
	audit.CodeFrozen:          "this jail's network is frozen after a misused placeholder or secrets in replies",
	audit.CodeUpgrade:         "it asks for another protocol, such as WebSocket, and no rule opens that",
	audit.CodeReflection:      "the reply held a secret of this jail",
	audit.CodeMintedToken:     "the reply holds a token for the credential, and the policy keeps it from the jail (on_minted: abort)",
	audit.CodePacket:          "nothing but TCP and DNS leaves a jail; the kernel refused it at once",
	audit.CodePolicyChanged:   "it was under way when the policy was changed, and is no longer allowed",
}

func reason(spec *jail.Spec, e wire.Event) string {
	unruled := e.Code == audit.CodePacket && e.Method != "TCP" // which no rule could allow
	if len(spec.Rules) == 0 && !unruled {
		return noNetwork(spec.Policy)
	}
	switch e.Code {
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
	case audit.CodePacket:
		if !unruled {
			return "no rule names this port; on this node, whose kernel has no sk_lookup, such connections are refused at once"
		}
	case audit.CodeTLSClient:
		return untrusting(e.Status)
	case audit.CodePrivate:
		if e.Address.IsValid() {
			return fmt.Sprintf("%s is %s, a private address", hostOf(e.Authority), e.Address)
		}
	case audit.CodeSSH:
		host := hostOf(e.Authority)
		if slices.Contains(gitHosts(spec.Bindings, nil), host) {
			return fmt.Sprintf("ssh to %s is not carried; this jail rewrites git@%s: to https", audit.Escape(e.Authority), host)
		}
		return fmt.Sprintf("ssh to %s is not carried", audit.Escape(e.Authority))
	}
	if text, ok := reasons[e.Code]; ok {
		return text
	}
	return string(e.Code)
}

// untrusting says what a client's alert in the handshake means (RFC 8446 section 6).
func untrusting(alert uint16) string {
	const none, badCertificate, certificateUnknown, unknownCA = 0, 42, 46, 48
	text, _ := strings.CutPrefix(tls.AlertError(min(alert, 255)).Error(), "tls: ")
	switch {
	case alert == none:
		return reasons[audit.CodeTLSClient]
	case alert >= badCertificate && alert <= certificateUnknown, alert == unknownCA:
		return reasons[audit.CodeTLSClient] + " (its alert: " + text + ")"
	}
	return "the client broke the handshake off (its alert: " + text + ")"
}

// hostOf is the host of an authority that the egress process named.
func hostOf(authority string) string {
	a, err := egress.ParseAuthority(authority, 443)
	if err != nil {
		return audit.Escape(authority)
	}
	return a.Host()
}

// noNetwork is the reason for whatever a jail without rules is refused.
func noNetwork(p jail.PolicyRef) string {
	if p.Fallback {
		return `no network: no policy was given, so this ran with preset "offline"`
	}
	return fmt.Sprintf("no network: policy %q has no egress_rules", p.Name)
}

// sentence is a refusal as its owner reads it. The reasons that name their
// subject themselves stand alone.
func sentence(r audit.Record) string {
	for _, complete := range []string{"no network: ", "ssh to "} {
		if strings.HasPrefix(r.Reason, complete) {
			return r.Reason
		}
	}
	if r.Code == string(audit.CodePrivate) && strings.Contains(r.Reason, " is ") {
		return r.Reason
	}
	return "denied " + what(r) + ": " + r.Reason
}
