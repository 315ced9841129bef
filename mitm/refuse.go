package mitm

import (
	"context"
	"errors"
	"net/http"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

// allowed is the record of a request that is about to be sent.
func (x *exchange) allowed() Event {
	x.event = x.base()
	x.event.Decision, x.event.Code, x.event.Rule = audit.Allow, audit.CodeAllowed, x.verdict.Index
	if x.cred.Foreign {
		x.event.Code = audit.CodeClientCredential
	}
	return x.event
}

// base is what all records of an exchange share.
func (x *exchange) base() Event {
	e := Event{
		Generation: x.g.Generation, Kind: audit.KindRequest, Authority: x.s.authority, Path: x.target.path,
		Rule: -1, Nearest: -1, Binding: x.binding,
	}
	if x.s.authority.IsZero() {
		e.Name = x.s.at.String()
	}
	if x.req != nil {
		e.Method = printable(x.req.Method, 16)
	}
	return e
}

// refuse records and answers a request that is not sent. It reports whether the
// connection can carry another.
func (x *exchange) refuse(ctx context.Context, no *refusal) bool {
	id, no := x.recordRefusal(ctx, no)
	return x.answer(no, id)
}

// recordRefusal records no, and may return another refusal in its place: beyond
// the refusal rate nothing more is written, and without an audit nothing is explained.
func (x *exchange) recordRefusal(ctx context.Context, no *refusal) (string, *refusal) {
	if !x.s.p.refusals.take() {
		return "", refuse(http.StatusTooManyRequests, audit.CodeFlood, "too many refused requests; slow down")
	}
	e := x.base()
	e.Decision, e.Code, e.Status, e.Address = audit.Deny, no.code, no.status, no.addr
	e.Rule, e.Nearest = no.rule, no.nearest
	if no.method != "" {
		e.Method, e.Path = printable(no.method, 16), no.path
	}
	if no.name != "" {
		e.Kind, e.Authority, e.Name, e.Method = audit.KindDNS, egress.Authority{}, no.name, ""
	}
	id, err := x.s.p.audit.Open(ctx, e)
	if err != nil {
		return "", refuseNoAudit()
	}
	return id, no
}

// answer writes a refusal.
func (x *exchange) answer(no *refusal, id string) bool {
	unread := x.req == nil || x.body != nil && !x.body.ended.Load()
	return x.to.refuse(answer{refusal: no, rule: x.ruleText(no), id: id}, x.req, unread)
}

// ruleText is the rule that decided or came nearest, as the policy wrote it.
func (x *exchange) ruleText(no *refusal) string {
	rules := x.g.Rules
	for _, i := range []int{no.rule, no.nearest} {
		if i >= 0 {
			return rules.Rule(i).String()
		}
	}
	return ""
}

// fail answers a request that was allowed and could not be carried out.
func (x *exchange) fail(ctx context.Context, err error) bool {
	no := x.failure(err)
	if x.id == "" {
		return x.refuse(ctx, no) // it was never recorded as sent
	}
	if ctx.Err() != nil && !x.s.p.frozen.Load() && !x.way.ended.Load() {
		x.done(audit.Allow, audit.CodeAllowed, 0, 0) // the client is gone
		return false
	}
	x.event.Address = no.addr
	x.done(audit.Deny, no.code, no.status, 0)
	return x.answer(no, x.id)
}

// failure words an error for the jail: the class of what went wrong, and nothing
// of the outside's.
func (x *exchange) failure(err error) *refusal {
	var no *refusal
	if errors.As(err, &no) {
		return no
	}
	if x.s.p.frozen.Load() {
		return refuseFrozen()
	}
	if x.way.ended.Load() {
		return refuseOutdated()
	}
	code, class := classify(err)
	no = word(code, class, x.s.authority.Host())
	var dial *dialError
	if errors.As(err, &dial) {
		no.addr = dial.addr
	}
	return no
}

func word(code audit.Code, class, host string) *refusal {
	switch code {
	case audit.CodePrivate:
		return refuse(http.StatusForbidden, code, host+" is a private address, and the policy opens none for it")
	case audit.CodeMetadata:
		return refuse(http.StatusForbidden, code, host+" is a metadata service, and never opened")
	case audit.CodeOwnAddress:
		return refuse(http.StatusForbidden, code, host+" is this node itself")
	case audit.CodeDeniedAddress:
		return refuse(http.StatusForbidden, code, host+" is at an address that the policy denies")
	case audit.CodeUpstreamTimeout:
		return refuse(http.StatusGatewayTimeout, code, host+": "+class)
	}
	return refuse(http.StatusBadGateway, code, host+": "+class)
}

func refuseFrozen() *refusal {
	return refuse(http.StatusForbidden, audit.CodeFrozen, "the network of this jail was stopped: a placeholder was misused, or replies held a secret")
}

func refuseNoAudit() *refusal {
	return refuse(http.StatusServiceUnavailable, audit.CodeAudit, "the audit cannot record this request, so it is not sent")
}
