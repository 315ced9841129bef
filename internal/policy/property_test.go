package policy

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/omnijail/omnijail/internal/egress"
)

// rulesText draws a list of rules about few hosts, methods and paths, so that
// they meet.
func rulesText(t *rapid.T, label string) []string {
	rule := rapid.Custom(func(t *rapid.T) string {
		deny := rapid.SampledFrom([]string{"", "", "!"}).Draw(t, "deny")
		method := rapid.SampledFrom([]string{"*", "GET", "GET,POST"}).Draw(t, "method")
		host := rapid.SampledFrom([]string{"a.example.com", "*.example.com", "b.example.com:8443"}).Draw(t, "host")
		path := rapid.SampledFrom([]string{"", "/**", "/x/**", "/x"}).Draw(t, "path")
		return deny + method + " " + host + path
	})
	return rapid.SliceOfN(rule, 0, 4).Draw(t, label)
}

func ruleDoc(rules []string) string {
	if len(rules) == 0 {
		return "{}"
	}
	return `{"egress_rules": ["` + strings.Join(rules, `", "`) + `"]}`
}

// Whatever is added to a policy, by extending it or by a request, what it denies
// stays denied.
func TestAddingNeverLiftsADenial(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		base, more := rulesText(rt, "base"), rulesText(rt, "more")
		rep := &report{}
		under := readYAML("base", []byte(ruleDoc(base)), rep)
		over := readYAML("more", []byte(ruleDoc(more)), rep)
		extended := finish(merge(under, over), rep)
		if err := rep.err(); err != nil {
			rt.Fatal(err)
		}
		req := request()
		req.Add.Allow = more
		spec, err := Compile(finish(under, &report{}), req, facts())
		if err != nil {
			rt.Fatal(err)
		}
		for _, rules := range [][]egress.Rule{extended.rules(), spec.Rules} {
			checkDenials(rt, base, rules)
		}
	})
}

func checkDenials(t *rapid.T, base []string, rules []egress.Rule) {
	all, err := egress.Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range base {
		r, err := egress.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		if !r.Deny {
			continue
		}
		for _, target := range []string{"a.example.com:443", "b.example.com:8443", "example.com:443"} {
			a, err := egress.ParseAuthority(target, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{"/", "/x", "/x/y"} {
				q := egress.Request{Scheme: egress.HTTPS, Method: "GET", Authority: a, Path: path}
				one, err := egress.Compile([]egress.Rule{r})
				if err != nil {
					t.Fatal(err)
				}
				if one.Decide(q).Index == 0 && all.Decide(q).Allow {
					t.Fatalf("%s denies %s%s, and with more rules it is allowed", text, target, path)
				}
			}
		}
	}
}

// Merging keeps every entry of both sides, in order, each once.
func TestMergeKeepsEveryEntry(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.SampledFrom([]string{"A", "B", "C", "D"})
		a, b := rapid.SliceOf(word).Draw(rt, "a"), rapid.SliceOf(word).Draw(rt, "b")
		tree := func(words []string) *node {
			n := &node{kind: list}
			for _, w := range words {
				n.items = append(n.items, &node{text: w})
			}
			return n
		}
		var got []string
		for _, item := range merge(tree(a), tree(b)).items {
			got = append(got, item.text)
		}
		for _, w := range append(slices.Clone(a), b...) {
			if !slices.Contains(got, w) {
				rt.Fatalf("%v + %v lost %s: %v", a, b, w, got)
			}
		}
		if !slices.Equal(got[:len(a)], a) {
			rt.Fatalf("%v + %v changed the base: %v", a, b, got)
		}
	})
}
