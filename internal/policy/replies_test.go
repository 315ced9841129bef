package policy

import (
	"testing"

	"github.com/omnijail/omnijail/creds"
)

// TestRepliesOfBoundHosts: what a policy says about replies, and what holds when it
// says nothing.
func TestRepliesOfBoundHosts(t *testing.T) {
	for text, want := range map[string]struct {
		reflection string
		minted     string
		cookies    creds.Cookies
		ranges     bool
	}{
		"": {"mask", "pass", creds.CookiesKeep, false},
		"on_reflection: freeze\non_minted: abort\negress_rules: [{host: a.example.com, range: true}]\ncredential_proxy: [{type: https_bearer, target: a.example.com, cookies: pass, source: {env: A}}]": {"freeze", "abort", creds.CookiesPass, true},
	} {
		if text == "" {
			text = "egress_rules: [\"* a.example.com\"]\ncredential_proxy: [{type: https_bearer, target: a.example.com, source: {env: A}}]"
		}
		spec, err := Compile(inline(t, text), request(), facts())
		if err != nil {
			t.Fatal(err)
		}
		if spec.OnReflection != want.reflection || spec.OnMinted != want.minted || spec.Bindings[0].Cookies != want.cookies || spec.Rules[0].Range != want.ranges {
			t.Errorf("%s\ngives %s, %s, range %v", text, spec.OnReflection, spec.Bindings[0].Cookies, spec.Rules[0].Range)
		}
	}
}
