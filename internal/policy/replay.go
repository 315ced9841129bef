package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/omnijail/omnijail/internal/egress"
)

// Recorded is one request as a journal keeps it: without its query.
type Recorded struct {
	ID        string // what why takes
	Method    string
	Authority string // HOST:PORT or HOST
	Path      string
	Allowed   bool
}

// Change is a request that a policy judges otherwise than it was judged.
type Change struct {
	Method    string `json:"method"`
	Authority string `json:"authority"`
	Path      string `json:"path"`
	Allowed   bool   `json:"allowed"` // by the policy
	Count     int    `json:"count"`   // recorded requests like it
	Last      string `json:"last"`    // the ID of the newest
	Text      string `json:"text"`    // which rule decides, and why
}

// Replayed says what a policy would have made of recorded requests.
type Replayed struct {
	Same    int
	Changes []Change // in the order of their first request
	Unknown []Change // that a query decides, or that are no requests any more; Text says why
}

// Replay judges recorded requests by d's rules.
func Replay(d *Document, recorded []Recorded) (Replayed, error) {
	rules, err := egress.Compile(d.rules())
	if err != nil {
		return Replayed{}, err
	}
	anyQuery, err := egress.Compile(withoutQueries(d.rules()))
	if err != nil {
		return Replayed{}, err
	}
	var out Replayed
	for _, r := range recorded {
		req, err := r.request()
		if err != nil {
			out.Unknown = tally(out.Unknown, r, false, err.Error())
			continue
		}
		verdict := rules.Decide(req)
		switch {
		case verdict.Allow != anyQuery.Decide(req).Allow:
			out.Unknown = tally(out.Unknown, r, false, "a rule asks for a query, which a journal does not keep")
		case verdict.Allow == r.Allowed:
			out.Same++
		default:
			out.Changes = tally(out.Changes, r, verdict.Allow, strings.TrimSpace(rules.Explain(req)))
		}
	}
	return out, nil
}

func withoutQueries(rules []egress.Rule) []egress.Rule {
	out := slices.Clone(rules)
	for i := range out {
		out[i].Query = nil
	}
	return out
}

func (r Recorded) request() (egress.Request, error) {
	scheme := egress.HTTPS
	a, err := egress.ParseAuthority(r.Authority, scheme.Port())
	if err != nil {
		return egress.Request{}, err
	}
	if a.Port() == egress.HTTP.Port() {
		scheme = egress.HTTP
	}
	path, err := egress.NormalizePath(r.Path)
	if err != nil {
		return egress.Request{}, err
	}
	return egress.Request{Scheme: scheme, Method: r.Method, Authority: a, Path: path}, nil
}

// tally adds r to the change of its like in list, or a new one.
func tally(list []Change, r Recorded, allowed bool, text string) []Change {
	i := slices.IndexFunc(list, func(c Change) bool {
		return c.Method == r.Method && c.Authority == r.Authority && c.Path == r.Path
	})
	if i < 0 {
		list = append(list, Change{Method: r.Method, Authority: r.Authority, Path: r.Path, Allowed: allowed, Text: text})
		i = len(list) - 1
	}
	list[i].Count++
	list[i].Last = r.ID
	return list
}

// String is the change as one line.
func (c Change) String() string {
	what := "would allow "
	if !c.Allowed {
		what = "would refuse"
	}
	times := ""
	if c.Count > 1 {
		times = fmt.Sprintf(", %d times", c.Count)
	}
	return fmt.Sprintf("%s %s %s%s (%s%s): %s", what, c.Method, c.Authority, c.Path, c.Last, times, firstLine(c.Text))
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
