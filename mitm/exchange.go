package mitm

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

// exchange is one request and what becomes of it.
type exchange struct {
	s          *session
	g          *generation // the one that all of it is judged by
	way        crossing
	to         client
	req        *http.Request // nil when its head could not be read
	target     gated
	verdict    egress.Verdict
	cred       creds.Verdict
	binding    int         // whose credential, or what that has earned, the request carries; -1 for none
	signedBy   int         // the binding that has earned its query; -1 for none
	jarKey     jarKey      // where its cookies are
	body       *body       // nil when the request has none
	inBody     atomic.Bool // a placeholder went by in the body
	out        uint64      // bytes from the jail over what the request became
	unsearched atomic.Bool // its reply is not, or not yet, searched for secrets
	hits       int         // secrets in the reply
	minted     *minted     // what the reply gives; nil without a credential
	event      Event       // what was recorded
	id         string
	began      time.Time
}

func newExchange(s *session, to client, req *http.Request) *exchange {
	s.p.share.Heed(s.p.ctx, requestWork)
	x := &exchange{s: s, g: s.p.now(), to: to, req: req, binding: -1, signedBy: -1, began: time.Now()}
	if req != nil && req.ContentLength != 0 {
		x.body = to.body(req)
	}
	return x
}

// run takes the request through all steps and reports whether the connection
// can carry another.
func (x *exchange) run(ctx context.Context) bool {
	if no := x.judge(); no != nil {
		return x.refuse(ctx, no)
	}
	ctx, cancel := x.s.p.untilFrozen(ctx)
	defer cancel()
	x.way.g, x.way.stays, x.way.cut = x.g, x.stays, cancel
	if !x.s.p.cross(&x.way) {
		return x.refuse(ctx, refuseOutdated())
	}
	defer x.s.p.crossed(&x.way)
	stop := x.to.watch(x.body, cancel)
	resp, err := x.forward(ctx)
	if err == nil {
		defer resp.Body.Close()
		if err = x.vet(resp); err == nil {
			x.undecorate(resp)
			if err = x.search(ctx, resp); err == nil {
				err = x.watchMinting(resp)
			}
		}
	}
	if err != nil {
		stop()
		return x.fail(ctx, err)
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		stop()
		x.switched(ctx, resp)
		return false
	}
	again := x.pass(resp)
	stop()
	return again && x.to.settle(x.body)
}

// forward authenticates, records and sends the request, in this order: nothing
// is dialled before the audit has it.
func (x *exchange) forward(ctx context.Context) (*http.Response, error) {
	if err := x.authenticate(ctx); err != nil {
		return nil, err
	}
	x.narrow(x.req.Header)
	id, err := x.s.p.audit.Open(ctx, x.allowed())
	if err != nil {
		return nil, refuseNoAudit()
	}
	x.id = id
	return x.lane().RoundTrip(x.outgoing(ctx))
}

// lane is the way to the upstream.
func (x *exchange) lane() http.RoundTripper {
	private := x.verdict.AllowPrivate
	if x.s.authority.Host() == egress.DoctorHost {
		return doctor{}
	}
	if x.target.websocket {
		return &upgrader{dial: x.g.Dial, scheme: x.s.scheme, authority: x.s.authority, private: private}
	}
	if x.body == nil && x.req.ProtoMajor == 1 {
		return trip{x.g.lanes.trips(x.binding, private), upstream{x.s.scheme, x.s.authority}}
	}
	return x.g.lanes.get(x.binding, private, x.req.ProtoMajor == 2)
}

// outgoing is the request as it is sent: the bytes that were judged, framed anew.
func (x *exchange) outgoing(ctx context.Context) *http.Request {
	a := x.s.authority
	out := (&http.Request{
		Method: x.req.Method,
		URL: &url.URL{
			Scheme: string(x.s.scheme), Host: a.String(), Opaque: x.target.path,
			RawQuery: x.target.query, ForceQuery: strings.Contains(x.req.RequestURI, "?"),
		},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        x.req.Header,
		Host:          hostHeader(x.s.scheme, a),
		ContentLength: x.req.ContentLength,
	}).WithContext(ctx)
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header["User-Agent"] = nil // or the transport adds its own
	}
	if x.body != nil {
		// A server may overlook a body that the method does not expect, and read it as
		// the next request of the connection: it is told that there is none.
		out.Close = safe(out.Method)
		x.prepareBody(out)
	}
	return out
}

// prepareBody hands the body to the transport with its limit and its trailers.
func (x *exchange) prepareBody(out *http.Request) {
	b := x.body
	b.limit = x.verdict.MaxBody
	b.inspect = x.inspector()
	for name := range x.req.Trailer {
		if trailerAllowed(name) {
			if out.Trailer == nil {
				out.Trailer = http.Header{}
			}
			out.Trailer[name] = nil
		}
	}
	b.trailers = func() error {
		if misplaced(x.req.Trailer) {
			return x.misused()
		}
		for name := range out.Trailer {
			out.Trailer[name] = x.req.Trailer[name]
		}
		return nil
	}
	out.Body = b
}

// hostHeader is the authority as clients write it: without a default port.
func hostHeader(scheme egress.Scheme, a egress.Authority) string {
	if a.Port() == scheme.Port() {
		return strings.TrimSuffix(a.String(), ":"+strconv.Itoa(int(a.Port())))
	}
	return a.String()
}

// vet refuses a reply that cannot be passed on.
func (x *exchange) vet(resp *http.Response) error {
	switch {
	case resp.StatusCode >= 200:
		return nil
	case resp.StatusCode == http.StatusSwitchingProtocols && x.target.websocket:
		return x.vetWebSocket(resp)
	}
	return errors.New("the upstream switched protocols unasked")
}

// pass sends the reply to the jail, records the end, and reports whether the
// connection is still in step.
func (x *exchange) pass(resp *http.Response) bool {
	stripReply(resp.Header)
	n, again := x.to.reply(x.req, resp)
	code := audit.CodeAllowed
	if given := x.minted.code(); given != "" {
		code = given
	}
	if x.inBody.Load() {
		code = audit.CodePlaceholder
	}
	if x.hits > 0 {
		code = audit.CodeReflection
	}
	decision := audit.Allow
	if x.minted.refused() {
		decision = audit.Deny
	}
	x.done(decision, code, resp.StatusCode, n)
	return again
}

// done records how the exchange ended.
func (x *exchange) done(d audit.Decision, code audit.Code, status int, in uint64) {
	e := x.event
	if x.way.ended.Load() {
		d, code = audit.Deny, audit.CodePolicyChanged
	}
	e.Kind, e.Decision, e.Code, e.Status = audit.KindDone, d, code, status
	e.BytesIn = in
	e.BytesOut = x.out
	if x.body != nil {
		e.BytesOut = uint64(x.body.n.Load())
	}
	e.Millis = millis(x.began)
	x.s.p.audit.Done(x.id, e)
}
