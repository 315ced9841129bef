package egress

import (
	"net/netip"
	"slices"
	"strings"
)

// Request is what is judged. The zero Authority is refused.
type Request struct {
	Scheme    Scheme
	Method    string // upper case, as on the wire
	Authority Authority
	Path      string // as NormalizePath returned it
	Query     string // raw, without the question mark
}

// Verdict is the decision on a Request.
type Verdict struct {
	Allow     bool
	Index     int    // the rule that decided, -1 when none did
	Nearest   int    // when no rule decided: the one that came closest, else -1
	Ambiguous bool   // refused because the path has two readings: answer 400
	Why       string // in words, without bytes of the request

	AllowPrivate []netip.Prefix // of all rules that allow the request
	MaxBody      int64          // bytes, the largest of these rules; 0: no limit
	WebSocket    bool           // one of these rules lets it become a WebSocket
	Range        bool           // one of these rules lets it ask for a part
}

// Decide is the decision function: deny beats allow, any allow allows, the rest
// is refused.
func (rs *Rules) Decide(q Request) Verdict {
	if q.Scheme == TCP {
		return rs.AllowsTCP(q.Authority)
	}
	return rs.decide(newCandidate(q))
}

// AllowsTCP decides on a stream that is not inspected.
func (rs *Rules) AllowsTCP(a Authority) Verdict {
	return rs.decide(&candidate{Request: Request{Scheme: TCP, Authority: a}})
}

// PassesUnread decides whether TLS for a is passed on as it is. A rule of the host
// that asks for more than the host, or that denies anything of it, has every
// connection read.
func (rs *Rules) PassesUnread(a Authority) Verdict {
	v := Verdict{Index: -1, Nearest: -1}
	if rs.Len() == 0 {
		return v
	}
	for r := range rs.forHost(a.Host()) {
		switch {
		case r.Scheme != HTTPS || r.Open || !r.coversPort(a.port):
		case !r.Unread:
			return Verdict{Index: -1, Nearest: -1}
		default:
			v.add(r)
		}
	}
	return v
}

func (rs *Rules) decide(c *candidate) Verdict {
	v := Verdict{Index: -1, Nearest: -1}
	if rs.Len() == 0 {
		v.Why = "the policy has no rules, so there is no network"
		return v
	}
	best := missHost
	for r := range rs.forHost(c.Authority.Host()) {
		miss := c.judge(r)
		switch {
		case r.Deny && (miss == missNone || miss == missAmbiguous):
			return refuse(r, miss)
		case r.Deny:
			continue
		case miss == missNone:
			v.add(r)
		case miss > best:
			best, v.Nearest = miss, r.place
		}
	}
	if v.Allow {
		v.Nearest, v.Why = -1, "allowed by "+rs.rules[v.Index].quoted
		return v
	}
	v.Ambiguous = best == missAmbiguous
	v.Why = "no rule allows it"
	if v.Nearest >= 0 {
		v.Why += " (nearest: " + rs.rules[v.Nearest].quoted + ", but " + best.reason() + ")"
	}
	return v
}

func refuse(r *compiled, miss miss) Verdict {
	v := Verdict{Index: r.place, Nearest: -1, Why: "denied by " + r.quoted}
	if miss == missAmbiguous {
		v.Ambiguous = true
		v.Why += ", which cannot be judged: " + miss.reason()
	}
	return v
}

// add joins a matching allow rule to the verdict. Order has no meaning, so what
// one rule permits is permitted; only Index depends on which came first.
func (v *Verdict) add(r *compiled) {
	v.WebSocket = v.WebSocket || r.WebSocket
	v.Range = v.Range || r.Range
	if !v.Allow {
		v.Allow, v.Index, v.MaxBody, v.AllowPrivate = true, r.place, r.MaxBody, r.AllowPrivate
		return
	}
	v.Index = min(v.Index, r.place)
	if v.MaxBody != 0 {
		v.MaxBody = max(v.MaxBody, r.MaxBody)
		if r.MaxBody == 0 {
			v.MaxBody = 0
		}
	}
	v.AllowPrivate = append(slices.Clip(v.AllowPrivate), r.AllowPrivate...)
}

// candidate is a request with what the matching of several rules shares.
type candidate struct {
	Request
	segs  []string // of Path
	loose []string // of the loosened path, made when the first deny rule asks
	check error    // CheckPath
}

func newCandidate(q Request) *candidate {
	return &candidate{Request: q, segs: segments(q.Path), check: CheckPath(q.Path)}
}

// miss says how far a rule is from a request; a larger one is nearer.
type miss int

const (
	missHost miss = iota // the rule is about another host
	missScheme
	missPort
	missMethod
	missPath
	missQuery
	missAmbiguous
	missNone // it matches
)

func (m miss) reason() string {
	return [...]string{
		missHost:      "the host is another",
		missScheme:    "the scheme is another",
		missPort:      "the port is another",
		missMethod:    "the method is not listed",
		missPath:      "the path does not match",
		missQuery:     "the query does not match",
		missAmbiguous: "the path has more than one reading",
		missNone:      "it matches",
	}[m]
}

// judge compares the request with a rule whose host pattern covers it. Allow
// rules are matched exactly, deny rules loosely: doubt refuses either way.
func (c *candidate) judge(r *compiled) miss {
	switch {
	case r.Scheme != c.Scheme, r.Open && r.Scheme == TCP: // OpensStream is for the latter
		return missScheme
	case !r.coversPort(c.Authority.port):
		return missPort
	case r.Scheme == TCP:
		return missNone
	case !r.coversMethod(c.Method):
		return missMethod
	case r.glob != nil && c.check != nil:
		return missAmbiguous
	case r.glob != nil && !c.matchesPath(r):
		return missPath
	case len(r.Query) > 0 && !matchQuery(r.Query, c.Query, r.Deny):
		return missQuery
	}
	return missNone
}

func (r *compiled) coversMethod(m string) bool {
	if r.Methods == nil {
		return slices.Contains(Methods, m)
	}
	return slices.Contains(r.Methods, m)
}

func (c *candidate) matchesPath(r *compiled) bool {
	if matchSegments(r.glob, c.segs) {
		return true
	}
	if !r.Deny {
		return false
	}
	if c.loose == nil {
		c.loose = segments(strings.TrimSuffix(loosen(c.Path, ""), "/"))
	}
	return matchSegments(r.loose, c.loose)
}

// loosen gives all spellings of a path that some server reads as the same one
// form: what is not unreserved is escaped, letters are lower case. Bytes of keep
// stay as they are.
func loosen(path, keep string) string {
	out := make([]byte, 0, len(path)+8)
	for i := 0; i < len(path); i++ {
		c := path[i]
		plain := isUnreserved(c) || c == '/' || c == '%' || strings.IndexByte(keep, c) >= 0
		out = appendByte(out, c, plain)
	}
	return strings.ToLower(string(out))
}
