package egress

import (
	"net/netip"
	"testing"
)

func TestS21_OpenRules(t *testing.T) {
	deny, err := ParseRule("!DELETE a.test/x/**")
	if err != nil {
		t.Fatal(err)
	}
	rs, err := Compile(append([]Rule{deny}, OpenRules("p.yaml:1")...))
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{"b.test": true, "a.test": true, "localhost": false, "x.localhost": false} {
		if got := rs.AllowsName(host); got != want {
			t.Errorf("AllowsName(%s) = %v", host, got)
		}
	}
	for _, c := range []struct {
		scheme         Scheme
		method, at     string
		path           string
		allow, streams bool
	}{
		{HTTPS, "GET", "b.test:8443", "/", true, true},
		{HTTP, "POST", "b.test:80", "/x", true, true},
		{HTTPS, "GET", "192.0.43.8:443", "/", true, true},
		{HTTPS, "GET", "[2606:4700::1]:443", "/", true, true},
		{HTTPS, "GET", "a.test:443", "/x/y", true, false},
		{HTTPS, "DELETE", "a.test:443", "/x/y", false, false},
		{HTTPS, "GET", "127.0.0.1:443", "/", false, false},
		{HTTPS, "GET", "224.0.0.1:443", "/", false, false},
		{HTTPS, "TRACE", "b.test:443", "/", false, true},
	} {
		a, err := ParseAuthority(c.at, 0)
		if err != nil {
			t.Fatal(err)
		}
		if v := rs.Decide(Request{Scheme: c.scheme, Method: c.method, Authority: a, Path: c.path}); v.Allow != c.allow {
			t.Errorf("%s %s %s: %+v", c.scheme, c.method, c.at, v)
		}
		if v := rs.OpensStream(a); v.Allow != c.streams {
			t.Errorf("stream to %s: %+v", c.at, v)
		}
		// A connection is looked at before it is a stream.
		if v := rs.AllowsTCP(a); v.Allow {
			t.Errorf("%s is passed on before anybody looked: %+v", c.at, v)
		}
	}
}

// Nothing but OpenRules can say "everything".
func TestNoOtherRuleIsOpen(t *testing.T) {
	for _, text := range []string{"* *:*/**", "GET */**", "tcp://*:*", "* http://*/**"} {
		if r, err := ParseRule(text); err == nil {
			t.Errorf("%q is read as %+v", text, r)
		}
	}
	for what, change := range map[string]func(*Rule){
		"a host":          func(r *Rule) { r.Host = "a.test" },
		"no host":         func(r *Rule) { r.Host = "" },
		"deny":            func(r *Rule) { r.Deny = true },
		"a method":        func(r *Rule) { r.Methods = []string{"GET"} },
		"a path":          func(r *Rule) { r.Path = "/x" },
		"unread":          func(r *Rule) { r.Unread = true },
		"private":         func(r *Rule) { r.AllowPrivate = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} },
		"a port":          func(r *Rule) { r.Port = 22 },
		"without the key": func(r *Rule) { r.Open = false },
	} {
		r := OpenRules("")[0]
		change(&r)
		if err := r.Check(); err == nil {
			t.Errorf("an open rule with %s is accepted", what)
		}
	}
}
