package policy

import (
	"encoding/json"

	"github.com/omnijail/omnijail/internal/jail"
)

// Inside is what the jail is told about its policy, /run/omnijail/policy.json:
// rules and limits. Where credentials come from, paths outside, lines and user
// names stay outside.
func Inside(s *jail.Spec) []byte {
	var out struct {
		Rules  []string `json:"rules"`
		Limits []string `json:"limits,omitempty"`
	}
	out.Rules = []string{}
	for _, r := range s.Rules {
		out.Rules = append(out.Rules, r.String())
	}
	out.Limits = LimitLines(s.Limits)
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		panic("omnijail: internal error: rules have no JSON form: " + err.Error())
	}
	return append(text, '\n')
}
