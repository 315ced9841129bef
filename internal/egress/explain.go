package egress

import (
	"fmt"
	"strings"
)

// Explain says in words which rule decides the request and, when none does, why
// each rule about this host does not. Bytes of the request appear quoted only.
func (rs *Rules) Explain(q Request) string {
	v := rs.Decide(q)
	var b strings.Builder
	if !v.Allow {
		b.WriteString("refused: ")
	}
	b.WriteString(v.Why)
	if v.Index >= 0 {
		fmt.Fprintf(&b, "%s\n", origin(rs.Rule(v.Index)))
		return b.String()
	}
	b.WriteByte('\n')
	c := newCandidate(q)
	for r := range rs.forHost(q.Authority.Host()) {
		miss := c.judge(r)
		fmt.Fprintf(&b, "  %q%s: %s%s\n", r.String(), origin(r.Rule), miss.reason(), c.detail(miss))
	}
	return b.String()
}

func origin(r Rule) string {
	if r.Origin == "" {
		return ""
	}
	return " (" + r.Origin + ")"
}

// detail names the part of the request that missed.
func (c *candidate) detail(m miss) string {
	switch m {
	case missScheme:
		return fmt.Sprintf(" than %q", string(c.Scheme))
	case missPort:
		return fmt.Sprintf(" than %d", c.Authority.port)
	case missMethod:
		return fmt.Sprintf(": %.32q", c.Method)
	case missPath:
		return fmt.Sprintf(": %.200q", c.Path)
	case missAmbiguous:
		return fmt.Sprintf(": %v", c.check)
	}
	return ""
}
