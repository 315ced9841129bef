package policy

import (
	"testing"

	"go.yaml.in/yaml/v4"
)

func TestS24_QuotedTextCannotSteerATerminal(t *testing.T) {
	for _, s := range []string{"plain", "\x1b[2J", "\u202eexe", "\u2066x\u2069", "\u200b", "a\tb\r\nc: d", "\"quoted\"", "\u0085"} {
		quoted := quoteYAML(s)
		for _, r := range quoted {
			if r < ' ' || r > '~' {
				t.Errorf("%q is written as %q", s, quoted)
			}
		}
		var back string
		if err := yaml.Unmarshal([]byte(quoted), &back); err != nil || back != s {
			t.Errorf("%q is written as %s and read as %q, %v", s, quoted, back, err)
		}
	}
}
