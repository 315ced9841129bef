package egress

import (
	"strings"
	"testing"
)

func TestProtocolsOfRules(t *testing.T) {
	for _, c := range []struct {
		rule Rule
		says string // "" when it is a good rule
	}{
		{Rule{Host: "a.example", WebSocket: true}, ""},
		{Rule{Host: "a.example", Scheme: HTTP, Methods: []string{"get"}, WebSocket: true}, ""},
		{Rule{Host: "a.example", PreferHTTP2: true}, ""},
		{Rule{Host: "a.example", Deny: true, WebSocket: true}, "deny rule"},
		{Rule{Host: "a.example", Deny: true, PreferHTTP2: true}, "deny rule"},
		{Rule{Host: "a.example", Methods: []string{"POST"}, WebSocket: true}, "GET"},
		{Rule{Host: "a.example", Scheme: HTTP, PreferHTTP2: true}, "handshake"},
		{Rule{Host: "a.example", Scheme: TCP, Port: 22, WebSocket: true}, "not inspected"},
		{Rule{Host: "a.example", Scheme: TCP, Port: 22, PreferHTTP2: true}, "not inspected"},
	} {
		err := c.rule.Check()
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%+v: %v, want %q", c.rule, err, c.says)
		}
	}
	if s := (Rule{Host: "a.example", Scheme: HTTPS, Port: 443, WebSocket: true, PreferHTTP2: true}).String(); s != "* a.example (websocket; h2 prefer)" {
		t.Errorf("written as %q", s)
	}
}

// TestWebSocketVerdict holds that a WebSocket is opened by a rule that allows the
// very request, in whatever order the rules stand.
func TestWebSocketVerdict(t *testing.T) {
	rules := []Rule{
		{Host: "a.example", Port: 443},
		{Host: "a.example", Port: 443, Path: "/ws", WebSocket: true},
		{Host: "*.h2.example", PreferHTTP2: true},
		{Host: "a.example", Port: 443, Path: "/ws/closed", Deny: true},
	}
	rs, err := Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"/ws": true, "/": false, "/ws/closed": false, "/wsx": false} {
		a := mustAuthority(t, "a.example:443")
		if v := rs.Decide(Request{Scheme: HTTPS, Method: "GET", Authority: a, Path: path}); v.WebSocket != want {
			t.Errorf("%s: %+v", path, v)
		}
	}
	for at, want := range map[string]bool{"x.h2.example:8443": true, "h2.example:443": true, "a.example:443": false, "b.example:443": false} {
		if rs.PrefersHTTP2(mustAuthority(t, at)) != want {
			t.Errorf("%s: preferred %v", at, !want)
		}
	}
}
