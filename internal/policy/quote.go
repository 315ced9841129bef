package policy

import (
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// quoteYAML writes one string as a YAML scalar, by the encoder, so that nothing
// in it can become another key. What a terminal would obey, the encoder's bidi
// characters included, stands as an escape.
func quoteYAML(s string) string {
	text, err := yaml.Dump(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle}, yaml.WithLineWidth(-1))
	if err != nil {
		panic("omnijail: internal error: a string has no YAML form: " + err.Error())
	}
	var out strings.Builder
	for _, r := range strings.TrimSpace(string(text)) {
		if unicode.IsPrint(r) {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, `\U%08x`, r)
		}
	}
	return out.String()
}
