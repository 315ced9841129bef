package daemon

import (
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egressd/wire"
)

// A hint allows exactly what was refused. What the jail sent must not turn it
// into a rule that allows more, nor into two words of a shell.
func TestS24_AHintNeverAllowsMore(t *testing.T) {
	j := testJail(t, func(string) {})
	for name, c := range map[string]struct {
		event wire.Event
		hint  string
	}{
		"plain":            {wire.Event{Code: audit.CodeNoRule, Method: "POST", Authority: "api.github.com:443", Path: "/user/repos"}, "omnijailctl exec --allow 'POST api.github.com/user/repos' -- …"},
		"another port":     {wire.Event{Code: audit.CodeNoRule, Method: "GET", Authority: "api.github.com:8443", Path: "/x"}, "omnijailctl exec --allow 'GET api.github.com:8443/x' -- …"},
		"a glob":           {wire.Event{Code: audit.CodeNoRule, Method: "POST", Authority: "api.github.com:443", Path: "/**"}, ""},
		"one character":    {wire.Event{Code: audit.CodeNoRule, Method: "POST", Authority: "api.github.com:443", Path: "/a?"}, ""},
		"a wildcard name":  {wire.Event{Code: audit.CodeNameDenied, Name: "*.evil.example"}, ""},
		"a denied name":    {wire.Event{Code: audit.CodeNameDenied, Name: "other.example"}, "omnijailctl exec --allow 'GET,HEAD other.example/**' -- …"},
		"no such method":   {wire.Event{Code: audit.CodeNoRule, Method: "BREW", Authority: "api.github.com:443", Path: "/x"}, ""},
		"a placeholder":    {wire.Event{Code: audit.CodePlaceholder, Method: "GET", Authority: "api.github.com:443", Path: "/x"}, ""},
		"plain http":       {wire.Event{Code: audit.CodePlainHTTP, Method: "GET", Authority: "api.github.com:80", Path: "/x"}, "omnijailctl exec --allow 'GET http://api.github.com/x' -- …"},
		"an address":       {wire.Event{Code: audit.CodeIPLiteral, Method: "GET", Authority: "192.0.2.1:443", Path: "/x"}, "omnijailctl exec --allow 'GET 192.0.2.1/x' -- …"},
		"a longer address": {wire.Event{Code: audit.CodeIPLiteral, Method: "GET", Authority: "[2001:db8::1]:443", Path: "/x"}, "omnijailctl exec --allow 'GET [2001:db8::1]:443/x' -- …"},
		"metadata":         {wire.Event{Code: audit.CodeIPLiteral, Method: "PUT", Authority: "169.254.169.254:80", Path: "/latest/api/token"}, ""},
		"mapped metadata":  {wire.Event{Code: audit.CodeIPLiteral, Method: "GET", Authority: "[64:ff9b::a9fe:a9fe]:80", Path: "/"}, ""},
		"a stream":         {wire.Event{Code: audit.CodeRawTCP, Authority: "db.example:5432"}, "omnijailctl exec --allow 'tcp://db.example:5432' -- …"},
		"shell characters": {wire.Event{Code: audit.CodeNoRule, Method: "GET", Authority: "api.github.com:443", Path: "/$(id)'x"}, `omnijailctl exec --allow 'GET api.github.com/$(id)'\''x' -- …`},
	} {
		t.Run(name, func(t *testing.T) {
			c.event.Rule, c.event.Nearest, c.event.Binding = -1, -1, -1
			if got := fix(j.spec(), c.event); got != c.hint {
				t.Errorf("hint %q, want %q", got, c.hint)
			}
		})
	}
	if rec, err := j.record(wire.Event{Kind: audit.KindRequest, Decision: audit.Deny, Code: audit.CodeNoRule, Method: "GET\x1b[2J", Authority: "a", Path: "/\u202e", Rule: -1, Nearest: -1, Binding: -1}); err != nil || strings.ContainsAny(rec.Method+rec.Path, "\x1b\u202e") {
		t.Errorf("record %+v, %v", rec, err)
	}
}
