package policy

import (
	"strings"
	"testing"
)

func TestS19_WhatIsNotReadNeverSharesAHostWithACredential(t *testing.T) {
	const bearer = "\ncredential_proxy: [{type: https_bearer, target: api.example.com, source: {env: TOKEN}}]"
	for name, tt := range map[string]struct{ text, want string }{
		"without the weakening": {"egress_rules: [{host: a.example.com, intercept: false}]", "is a weakening"},
		"with a method":         {"weaken: [passthrough]\negress_rules: [{host: a.example.com, methods: [GET], intercept: false}]", "leaves no method"},
		"beside one that reads": {"weaken: [passthrough]\negress_rules: [{host: a.example.com, intercept: false}, GET a.example.com/x]", "has to read what passes"},
		"with a credential":     {"weaken: [passthrough]\negress_rules: [{host: \"*.example.com\", intercept: false}, GET api.example.com]" + bearer, "is always read"},
		"another port":          {"weaken: [passthrough]\negress_rules: [{host: api.example.com, port: 8443, intercept: false}, GET api.example.com]" + bearer, "is always read"},
		"a raw stream":          {"egress_rules: [\"tcp://api.example.com:22\", GET api.example.com]" + bearer, "is always read"},
		"it holds":              {"weaken: [passthrough]\negress_rules: [{host: a.example.com, intercept: false}, \"tcp://b.example.com:22\", GET api.example.com]" + bearer, ""},
	} {
		doc, err := tryInline(tt.text)
		if err == nil {
			_, err = Compile(doc, request(), facts())
		}
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", name, err, tt.want)
		}
	}
}
