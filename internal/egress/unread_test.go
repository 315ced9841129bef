package egress

import "testing"

func TestPassesUnread(t *testing.T) {
	unread := func(host string, port uint16) Rule {
		return Rule{Scheme: HTTPS, Host: host, Port: port, Unread: true}
	}
	parse := func(text string) Rule {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for what, tt := range map[string]struct {
		rules []Rule
		host  string
		port  uint16
		want  bool
	}{
		"the host":                     {[]Rule{unread("a.test", 443)}, "a.test", 443, true},
		"below a wildcard":             {[]Rule{unread("*.a.test", 443)}, "x.a.test", 443, true},
		"another host":                 {[]Rule{unread("a.test", 443)}, "b.test", 443, false},
		"another port":                 {[]Rule{unread("a.test", 443)}, "a.test", 8443, false},
		"no rule":                      {nil, "a.test", 443, false},
		"a rule that reads":            {[]Rule{parse("* a.test/**")}, "a.test", 443, false},
		"also one that reads":          {[]Rule{unread("*.a.test", 443), parse("GET x.a.test/**")}, "x.a.test", 443, false},
		"one that denies":              {[]Rule{unread("*.a.test", 443), parse("!* x.a.test/secret/**")}, "x.a.test", 443, false},
		"one that denies the host":     {[]Rule{unread("*.a.test", 443), parse("!* x.a.test")}, "x.a.test", 443, false},
		"one that reads another port":  {[]Rule{unread("a.test", 443), parse("GET a.test:8443/**")}, "a.test", 443, true},
		"one of the host's plain HTTP": {[]Rule{unread("a.test", 443), parse("GET http://a.test/**")}, "a.test", 443, true},
	} {
		rules, err := Compile(tt.rules)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		a, err := AuthorityFrom(tt.host, tt.port)
		if err != nil {
			t.Fatal(err)
		}
		if v := rules.PassesUnread(a); v.Allow != tt.want || tt.want != (v.Index == 0) {
			t.Errorf("%s: %+v, want %v", what, v, tt.want)
		}
	}
	for what, r := range map[string]Rule{
		"methods":   {Methods: []string{"GET"}},
		"a path":    {Path: "/x"},
		"a query":   {Query: map[string]string{"a": "b"}},
		"a ceiling": {MaxBody: 1},
		"websocket": {WebSocket: true},
		"h2":        {PreferHTTP2: true},
		"deny":      {Deny: true},
		"http":      {Scheme: HTTP, Port: 80},
		"tcp":       {Scheme: TCP},
	} {
		r.Host, r.Unread = "a.test", true
		if r.Port == 0 {
			r.Port = 443
		}
		if err := r.Check(); err == nil {
			t.Errorf("a rule with %s passes unread", what)
		}
	}
}
