package policy

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// quoteYAML writes one string as a YAML scalar, by the encoder, so that nothing
// in it can become another key.
func quoteYAML(s string) string {
	text, err := yaml.Dump(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle}, yaml.WithLineWidth(-1))
	if err != nil {
		panic("omnijail: internal error: a string has no YAML form: " + err.Error())
	}
	return strings.TrimSpace(string(text))
}
