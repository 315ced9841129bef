package mitm

import (
	"maps"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
)

// generation is a Policy in force, or one that was, while something that it allowed
// is still under way. Each request and each connection carried unread belongs to
// one from its first judgement to its end.
type generation struct {
	Policy
	lanes *lanes
	jar   *jar

	// Under Proxy.mu.
	crossings int  // of this generation that are under way
	retired   bool // another is in force
}

func newGeneration(p Policy) *generation {
	return &generation{Policy: p, lanes: newLanes(p.Dial), jar: newJar()}
}

// now is the generation that what begins is judged by.
func (p *Proxy) now() *generation { return p.inForce.Load() }

// Replace puts another Policy in force. What begins after it has returned is judged
// by that one alone. What is under way goes on where it would be allowed in the
// same way with the same credential, and is cut else; connections to upstreams
// that the former policy left idle are closed.
func (p *Proxy) Replace(next Policy) error {
	if err := next.check(); err != nil {
		return err
	}
	g := newGeneration(next)
	p.mu.Lock()
	former := p.now()
	p.inForce.Store(g)
	former.retired = true
	p.sift(g)
	p.mu.Unlock()
	p.leaves.forget()
	former.lanes.close()
	return nil
}

// sift cuts what g does not let go on. It is called under mu.
func (p *Proxy) sift(g *generation) {
	for way := range p.crossings {
		if !way.stays(g) {
			way.ended.Store(true)
			way.cut()
		}
	}
}

// resift cuts what does not go on any more under the generation in force: a host that
// is going to be told a token may not answer where it is not searched for it.
func (p *Proxy) resift() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sift(p.now())
}

// crossing is something between the jail and an upstream that a generation allowed.
type crossing struct {
	g     *generation
	stays func(*generation) bool // whether another generation lets it go on
	cut   func()                 // ends it; does not wait
	ended atomic.Bool            // it was cut, because the policy had changed
}

// cross begins a crossing, or reports that the policy in force does not allow any
// more what an earlier one did.
func (p *Proxy) cross(way *crossing) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if g := p.now(); g != way.g && !way.stays(g) {
		return false
	}
	p.crossings[way] = struct{}{}
	way.g.crossings++
	return true
}

// crossed ends a crossing. The connections of a generation end with its last one.
func (p *Proxy) crossed(way *crossing) {
	p.mu.Lock()
	delete(p.crossings, way)
	way.g.crossings--
	over := way.g.retired && way.g.crossings == 0
	p.mu.Unlock()
	if over {
		way.g.lanes.close()
	}
}

// stays reports whether a request that is under way would be sent in the same way
// under another generation.
func (x *exchange) stays(g *generation) bool {
	v := g.Rules.Decide(egress.Request{
		Scheme: x.s.scheme, Method: x.req.Method, Authority: x.s.authority, Path: x.target.path, Query: x.target.query,
	})
	if !sameWay(x.verdict, v) || !g.Dial.opensLike(x.g.Dial) || !g.Table.Keeps(x.g.Table, x.binding) {
		return false
	}
	if x.binding >= 0 && g.OnMinted.withholds() && g.OnMinted != x.g.OnMinted {
		return false // what it still answers would be looked through for tokens too little
	}
	host := x.s.authority.Host()
	if g.Table.Searched(host) && (g.Table.Adds(x.g.Table) || x.unsearched.Load()) {
		return false // what it still answers would be searched for too little
	}
	if !x.target.websocket {
		return true
	}
	bound, open := g.Table.WebSocket(host)
	return v.WebSocket && (open || !bound)
}

// sameWay reports whether two generations allow something to the same extent.
func sameWay(was, is egress.Verdict) bool {
	return is.Allow && was.MaxBody == is.MaxBody && prefixKey(was.AllowPrivate) == prefixKey(is.AllowPrivate)
}

// opensLike reports whether d reaches no other address for a name than former does.
func (d *Dialer) opensLike(former *Dialer) bool {
	return d == former || d.up.AllowPrivate == former.up.AllowPrivate &&
		maps.Equal(d.up.Hosts, former.up.Hosts) && slices.Equal(d.up.Private, former.up.Private) && slices.Equal(d.up.Denied, former.up.Denied)
}

// refuseOutdated answers a request that was under way when it was no longer allowed.
func refuseOutdated() *refusal {
	return refuse(http.StatusForbidden, audit.CodePolicyChanged, "the policy of this jail was changed, and no longer allows this request")
}
