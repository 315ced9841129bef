package egress

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
)

func compile(t testing.TB, rules ...string) *Rules {
	t.Helper()
	var parsed []Rule
	for _, text := range rules {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, r)
	}
	rs, err := Compile(parsed)
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

func request(t testing.TB, method, at, target string) Request {
	t.Helper()
	q := Request{Scheme: HTTPS, Method: method}
	if rest, ok := strings.CutPrefix(at, "http://"); ok {
		q.Scheme, at = HTTP, rest
	}
	a, err := ParseAuthority(at, q.Scheme.Port())
	if err != nil {
		t.Fatal(err)
	}
	q.Authority = a
	q.Path, q.Query, _ = strings.Cut(target, "?")
	return q
}

func TestDecide(t *testing.T) {
	rules := []string{
		"GET,HEAD api.example/repos/**",           // 0
		"!* api.example/repos/*/secrets/**",       // 1
		"POST api.example/graphql",                // 2
		"* *.wild.example",                        // 3
		"!* no.wild.example",                      // 4
		"GET http://plain.example",                // 5
		"* 192.0.2.7:8443",                        // 6
		"* any.example:*",                         // 7
		"GET api.example/a/**/z",                  // 8
		"GET [2001:db8::7]/x",                     // 9
		"!DELETE *.wild.example/keep",             // 10
		"!* any.example:22/**",                    // 11
		"GET api.example/@scope/*",                // 12
		"* deny.example", "!* deny.example/@x/**", // 13 14
	}
	rs := compile(t, rules...)
	for _, c := range []struct {
		method, at, target string
		allow              bool
		index              int
		why                string
	}{
		{"GET", "api.example", "/repos/a", true, 0, "allowed by"},
		{"GET", "api.example", "/repos", true, 0, ""},
		{"GET", "API.example.", "/repos/", true, 0, ""},
		{"PUT", "api.example", "/repos/a", false, -1, "method is not listed"},
		{"GET", "api.example", "/repositories", false, -1, "path does not match"},
		{"GET", "api.example:8443", "/repos/a", false, -1, "port is another"},
		{"GET", "http://api.example", "/repos/a", false, -1, "scheme is another"},
		{"GET", "x.api.example", "/repos/a", false, -1, "no rule allows it"},
		{"GET", "evilapi.example", "/repos/a", false, -1, ""},
		{"GET", "api.example.evil.test", "/repos/a", false, -1, ""},
		{"GET", "api.example", "/repos/a/secrets/b", false, 1, "denied by"},
		{"GET", "api.example", "/repos/a/SECRETS/b", false, 1, "denied by"},
		{"GET", "api.example", "/repos/a/secrets", false, 1, ""},
		{"GET", "api.example", "/repos/a/secrets/", false, 1, ""},
		{"POST", "api.example", "/graphql", true, 2, ""},
		{"POST", "api.example", "/graphql/", false, -1, ""},
		{"POST", "api.example", "/graphqlx", false, -1, ""},
		{"PUT", "wild.example", "/", true, 3, ""},
		{"PUT", "a.b.wild.example", "/", true, 3, ""},
		{"PUT", "evilwild.example", "/", false, -1, ""},
		{"GET", "no.wild.example", "/", false, 4, ""},
		{"DELETE", "a.wild.example", "/keep", false, 10, ""},
		{"DELETE", "a.wild.example", "/Keep/", false, 10, ""},
		{"GET", "http://plain.example", "/", true, 5, ""},
		{"GET", "plain.example", "/", false, -1, ""},
		{"GET", "192.0.2.7:8443", "/", true, 6, ""},
		{"GET", "192.0.2.8:8443", "/", false, -1, ""},
		{"GET", "any.example:1", "/", true, 7, ""},
		{"GET", "any.example:22", "/", false, 11, ""},
		{"GET", "api.example", "/a/z", true, 8, ""},
		{"GET", "api.example", "/a/b/c/z", true, 8, ""},
		{"GET", "api.example", "/a/evilz", false, -1, ""},
		{"GET", "[2001:db8::7]", "/x", true, 9, ""},
		{"CONNECT", "a.wild.example", "/", false, -1, "method"},
		{"TRACE", "a.wild.example", "/", false, -1, "method"},
		{"get", "a.wild.example", "/", false, -1, "method"},
		{"", "a.wild.example", "/", false, -1, "method"},
		{"GET", "api.example", "/@scope/x", true, 12, ""},
		{"GET", "api.example", "/%40scope/x", false, -1, "path"},
		{"GET", "deny.example", "/@x/y", false, 14, ""},
		{"GET", "deny.example", "/%40x/y", false, 14, "denied"},
	} {
		v := rs.Decide(request(t, c.method, c.at, c.target))
		if v.Allow != c.allow || v.Index != c.index || !strings.Contains(v.Why, c.why) {
			t.Errorf("%s %s%s: %+v, want allow %v by %d (%q)", c.method, c.at, c.target, v, c.allow, c.index, c.why)
		}
		if v.Index >= 0 && v.Nearest != -1 {
			t.Errorf("%s %s%s: a nearest rule beside a deciding one", c.method, c.at, c.target)
		}
	}
}

func TestNoRulesNoNetwork(t *testing.T) {
	for name, rs := range map[string]*Rules{"nil": nil, "empty": compile(t)} {
		v := rs.Decide(request(t, "GET", "h.example", "/"))
		if v.Allow || v.Index != -1 || v.Nearest != -1 || !strings.Contains(v.Why, "no network") {
			t.Errorf("%s: %+v", name, v)
		}
		if rs.AllowsName("h.example") || rs.AllowsTCP(mustAuthority(t, "h.example:1")).Allow || rs.Len() != 0 {
			t.Errorf("%s rules allow something", name)
		}
	}
}

func mustAuthority(t testing.TB, s string) Authority {
	t.Helper()
	a, err := ParseAuthority(s, 443)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestNearest(t *testing.T) {
	rs := compile(t, "GET other.example", "GET api.example:1", "POST api.example/x", "GET api.example/y")
	for target, want := range map[string]int{"/z": 3, "/y/": 3} {
		if v := rs.Decide(request(t, "GET", "api.example", target)); v.Nearest != want {
			t.Errorf("GET %s: nearest %d, want %d", target, v.Nearest, want)
		}
	}
	if v := rs.Decide(request(t, "GET", "none.example", "/")); v.Nearest != -1 || v.Why != "no rule allows it" {
		t.Errorf("unknown host: %+v", v)
	}
}

func TestAllowsTCP(t *testing.T) {
	rs := compile(t, "tcp://db.example:5432", "* web.example", "!tcp://bad.d.example:1", "tcp://*.d.example:*")
	for at, want := range map[string]bool{
		"db.example:5432": true, "db.example:5433": false, "web.example:443": false,
		"a.d.example:9": true, "bad.d.example:1": false, "bad.d.example:2": true,
	} {
		if v := rs.AllowsTCP(mustAuthority(t, at)); v.Allow != want {
			t.Errorf("%s: %+v, want %v", at, v, want)
		}
	}
	if rs.Decide(request(t, "GET", "db.example:5432", "/")).Allow {
		t.Error("a tcp rule allows an HTTP request")
	}
}

func TestAllowsName(t *testing.T) {
	rs := compile(t, "GET a.example/x", "* *.w.example", "!* no.w.example", "!GET some.w.example", "!* port.w.example:8443",
		"tcp://t.example:22", "!* only-denied.example")
	for host, want := range map[string]bool{
		"a.example": true, "b.a.example": false, "w.example": true, "x.y.w.example": true, "no.w.example": false,
		"some.w.example": true, "port.w.example": true, "t.example": true, "only-denied.example": false, "example": false, "": false,
	} {
		if got := rs.AllowsName(host); got != want {
			t.Errorf("AllowsName(%q) = %v, want %v", host, got, want)
		}
	}
}

func TestReaches(t *testing.T) {
	rs := compile(t, "GET api.example/repos/**", "!* no.example", "GET http://plain.example", "* any.example:*")
	for _, c := range []struct {
		at      string
		methods []string
		glob    string
		want    bool
	}{
		{"api.example", nil, AnyPath, true},
		{"api.example", []string{"POST"}, AnyPath, false},
		{"api.example", []string{"POST", "GET"}, "/repos/x", true},
		{"api.example", nil, "/user/**", false},
		{"api.example:8443", nil, AnyPath, false},
		{"no.example", nil, AnyPath, false},
		{"plain.example:80", nil, AnyPath, false},
		{"any.example:8443", nil, AnyPath, true},
	} {
		if got := rs.Reaches(mustAuthority(t, c.at), c.methods, c.glob); got != c.want {
			t.Errorf("Reaches(%s, %v, %s) = %v, want %v", c.at, c.methods, c.glob, got, c.want)
		}
	}
}

// TestOrderHasNoMeaning holds that limits and private networks of all matching
// rules are joined.
func TestOrderHasNoMeaning(t *testing.T) {
	ten := netip.MustParsePrefix("10.0.0.0/8")
	rules := []Rule{
		{Host: "h.example", Port: 443, MaxBody: 10},
		{Host: "h.example", Port: 443, MaxBody: 20, AllowPrivate: []netip.Prefix{ten}},
		{Host: "*.example", Port: 443, Path: "/free", MaxBody: 0},
	}
	for i := range rules {
		rotated := append(append([]Rule{}, rules[i:]...), rules[:i]...)
		rs, err := Compile(rotated)
		if err != nil {
			t.Fatal(err)
		}
		v := rs.Decide(request(t, "GET", "h.example", "/x"))
		if !v.Allow || v.MaxBody != 20 || !reflect.DeepEqual(v.AllowPrivate, []netip.Prefix{ten}) {
			t.Errorf("rotation %d: %+v", i, v)
		}
		if v := rs.Decide(request(t, "GET", "h.example", "/free")); v.MaxBody != 0 {
			t.Errorf("rotation %d: a rule without a limit is limited to %d", i, v.MaxBody)
		}
	}
}

func TestQuery(t *testing.T) {
	rule := Rule{Host: "h.example", Port: 443, Query: map[string]string{"service": "git-*-pack", "v": "?"}}
	deny := rule
	deny.Deny, deny.Query = true, map[string]string{"service": "git-receive-pack"}
	rs, err := Compile([]Rule{rule, deny})
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]bool{
		"service=git-upload-pack&v=1":         true,
		"v=1&other=x&service=git-upload-pack": true,
		"service=git%2Dupload-pack&v=%31":     true,
		"":                                    false,
		"service=git-upload-pack":             false,
		"service=git-upload-pack&v=12":        false,
		"service=git-upload-pack&service=git-receive-pack&v=1": false,
		"service=evil&service=git-upload-pack&v=1":             false,
		"service=git-upload-pack&v=1&SERVICE=git-receive-pack": false,
		"service=git-upload-pack;v=1":                          false,
		"service=git-upload-pack&v=%zz":                        false,
	} {
		if v := rs.Decide(request(t, "GET", "h.example", "/?"+query)); v.Allow != want {
			t.Errorf("?%s: %+v, want %v", query, v, want)
		}
	}
}

// TestS30_Ceilings holds that a policy cannot make a decision expensive.
func TestS30_Ceilings(t *testing.T) {
	many := make([]Rule, MaxRules+1)
	for i := range many {
		many[i] = Rule{Host: fmt.Sprintf("h%d.example", i), Port: 443}
	}
	if _, err := Compile(many); err == nil {
		t.Errorf("%d rules are accepted", len(many))
	}
	if _, err := Compile(many[1:]); err != nil {
		t.Error(err)
	}
	if _, err := Compile([]Rule{{Host: "*"}}); err == nil {
		t.Error("Compile takes a rule that Check refuses")
	}
}

func TestExplain(t *testing.T) {
	rs := compile(t, "GET api.example/repos/**", "POST api.example/graphql", "!DELETE api.example")
	for _, c := range []struct{ method, target, want string }{
		{"GET", "/repos/a", `allowed by "GET api.example/repos/**"`},
		{"DELETE", "/x", `refused: denied by "!DELETE api.example/**"`},
		{"PUT", "/x", `"POST api.example/graphql": the method is not listed: "PUT"`},
		{"GET", "/x\x1b[2J", `the path does not match: "/x\x1b[2J"`},
	} {
		q := request(t, c.method, "api.example", c.target)
		if got := rs.Explain(q); !strings.Contains(got, c.want) || strings.Contains(got, "\x1b") {
			t.Errorf("%s %q: %s, want %s", c.method, c.target, got, c.want)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			texts := []string{"GET,POST api.github.com/repos/**"}
			for i := 1; i < n; i++ {
				texts = append(texts, fmt.Sprintf("GET h%d.example.com/a/**", i))
			}
			rs := compile(b, texts...)
			q := request(b, "GET", "api.github.com", "/repos/cli/cli/issues")
			b.ReportAllocs()
			for b.Loop() {
				if !rs.Decide(q).Allow {
					b.Fatal("refused")
				}
			}
		})
	}
}
