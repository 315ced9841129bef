package mitm

import (
	"fmt"
	"net/http"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

// judge decides on a request: gate, rules, credential table. nil lets it go on.
func (x *exchange) judge() *refusal {
	p := x.s.p
	if p.frozen.Load() {
		return refuseFrozen()
	}
	target, no := gate(x.req, x.s.scheme, x.s.authority)
	if no != nil {
		return no
	}
	x.target = target
	x.unsign()
	dropped := stripRequest(x.req.Header)
	if no := x.judgeRules(); no != nil {
		return no
	}
	if misplaced(dropped) {
		return x.misused()
	}
	if no := x.judgeCredentials(); no != nil || !x.target.websocket {
		return no
	}
	return x.judgeWebSocket()
}

// judgeRules asks the rules, and says which one decided.
func (x *exchange) judgeRules() *refusal {
	x.verdict = x.decide(x.req.Method, x.target.path, x.target.query)
	if !x.verdict.Allow {
		return x.denied(x.verdict, x.req.Method, x.target.path)
	}
	if limit := x.verdict.MaxBody; limit > 0 && x.req.ContentLength > limit {
		return refuseTooLarge(limit)
	}
	if next, ok := gitNext(x.req, x.target); ok {
		if v := x.decide(http.MethodPost, next, ""); !v.Allow {
			return x.denied(v, http.MethodPost, next)
		}
	}
	return nil
}

func (x *exchange) decide(method, path, query string) egress.Verdict {
	return x.g.Rules.Decide(egress.Request{
		Scheme: x.s.scheme, Method: method, Authority: x.s.authority, Path: path, Query: query,
	})
}

// denied is the refusal of a request by the rules. It is recorded under the
// method and path that were judged.
func (x *exchange) denied(v egress.Verdict, method, path string) *refusal {
	no := refuse(http.StatusForbidden, x.denialCode(v), fmt.Sprintf("denied %s %s%s: %s",
		printable(method, 16), hostHeader(x.s.scheme, x.s.authority), printable(path, 256), v.Why))
	if v.Ambiguous {
		no.status = http.StatusBadRequest
	}
	no.rule, no.nearest, no.method, no.path = v.Index, v.Nearest, method, path
	return no
}

// denialCode sorts a refusal of the rules by what the owner would change.
func (x *exchange) denialCode(v egress.Verdict) audit.Code {
	rules := x.g.Rules
	switch {
	case rules.Len() == 0:
		return audit.CodeNoNetwork
	case v.Ambiguous:
		return audit.CodeBadRequest
	case v.Index >= 0:
		return audit.CodeDenyRule
	case v.Nearest < 0 && isAddress(x.s.authority):
		return audit.CodeIPLiteral
	case x.s.scheme == egress.HTTP && (v.Nearest < 0 || rules.Rule(v.Nearest).Scheme != egress.HTTP):
		return audit.CodePlainHTTP
	}
	return audit.CodeNoRule
}

// judgeCredentials asks the table what becomes of the request.
func (x *exchange) judgeCredentials() *refusal {
	x.cred = x.g.Table.Judge(creds.Request{
		Scheme: x.s.scheme, Method: x.req.Method, Authority: x.s.authority,
		Path: x.target.path, RawTarget: x.rawTarget(), Header: x.req.Header, Signed: x.signedBy >= 0,
	})
	if x.signedBy >= 0 {
		return x.judgeSigned()
	}
	return x.judgeAction()
}

func (x *exchange) judgeAction() *refusal {
	switch x.cred.Action {
	case creds.Forward, creds.Strip:
	case creds.Attach, creds.Exchange:
		x.binding = x.cred.Binding
	case creds.RefuseForeign:
		return refuse(http.StatusForbidden, audit.CodeForeign,
			"the request brings a credential of its own, and the policy forwards none to "+x.s.authority.Host())
	case creds.RefusePath:
		return badRequest("the path has more than one reading, and a credential depends on it")
	case creds.RefuseOverride:
		return refuse(http.StatusForbidden, audit.CodeMethod,
			"the request carries a second method, path or credential, and one is bound to "+x.s.authority.Host())
	case creds.RefuseMethod:
		return refuse(http.StatusMethodNotAllowed, audit.CodeMethod, x.req.Method+" is never forwarded")
	default:
		return x.misused()
	}
	return nil
}

// misplaced reports whether headers that the table never sees hold a placeholder:
// those that are dropped, and trailers.
func misplaced(h http.Header) bool {
	for name, values := range h {
		if creds.Find(name) {
			return true
		}
		for _, v := range values {
			if creds.Find(v) {
				return true
			}
		}
	}
	return false
}

// misused refuses a placeholder where it does not belong, and stops the jail's
// network where the policy says so.
func (x *exchange) misused() *refusal {
	if x.g.Freeze {
		x.s.p.Freeze()
	}
	return refusePlaceholder()
}

// refusePlaceholder is one answer for all: an unknown placeholder, another
// jail's, and the right one in the wrong place look the same.
func refusePlaceholder() *refusal {
	return refuse(http.StatusForbidden, audit.CodePlaceholder, "the request holds a placeholder where none may be")
}
