package egress

import (
	"slices"
	"strings"
	"testing"
)

// TestPinned_Rules asks what the tests of an earlier proxy pin about its rules, which
// have the same form. Where ours answer differently the table says why.
func TestPinned_Rules(t *testing.T) {
	for _, c := range []struct {
		rules          string // one in a line
		method, target string
		allowed        bool
	}{
		{"GET api.test/repos/a", "GET", "api.test/repos/a", true},
		{"GET api.test/repos/a", "GET", "api.test/repos/b", false},
		{"GET api.test/repos/a", "POST", "api.test/repos/a", false},
		{"GET api.test", "GET", "api.test/", true},
		{"* *.corp.test", "GET", "corp.test/", true}, // the apex, too
		{"* *.corp.test", "GET", "a.b.corp.test/x", true},
		{"* *.corp.test", "GET", "evilcorp.test/", false},
		{"* *.corp.test", "GET", "corp.test.evil.test/", false},
		{"* api.test", "DELETE", "api.test/", true},
		{"* api.test", "OPTIONS", "api.test/", true},
		{"* api.test", "TRACE", "api.test/", false}, // the earlier one's * had it
		{"get API.Test", "GET", "api.test/", true},
		{"GET api.test/*/x", "GET", "api.test/a/x", true},
		{"GET api.test/*/x", "GET", "api.test/a/b/x", false},
		{"GET api.test/repos/**/issues", "GET", "api.test/repos/issues", true},
		{"GET api.test/repos/**/issues", "GET", "api.test/repos/a/b/issues", true},
		{"GET api.test/repos/**/issues", "GET", "api.test/repos/evilissues", false}, // ** ate the slash there
		{"GET api.test/repos/**", "GET", "api.test/repos", true},                    // refused there
		{"GET api.test/files/*.txt", "GET", "api.test/files/a.txt", true},
		{"GET api.test/files/*.txt", "GET", "api.test/files/.txt", true},
		{"GET api.test/files/*.txt", "GET", "api.test/files/a/b.txt", false},
		{"GET a.test\nGET api.test\nGET b.test", "GET", "api.test/", true}, // any one is enough
		{"", "GET", "api.test/", false},                                    // and none is no network, not an open one
		{"GET api.test", "GET", "other.test/", false},
		{"GET api.test", "GET", "api.test:8443/", false}, // a rule had no port there
		{"GET api.test:*", "GET", "api.test:8443/", true},
	} {
		rs, err := Compile(parsed(t, strings.FieldsFunc(c.rules, func(r rune) bool { return r == '\n' })...))
		if err != nil {
			t.Fatal(err)
		}
		host, path, _ := strings.Cut(c.target, "/")
		a, err := ParseAuthority(host, 443)
		if err != nil {
			t.Fatal(err)
		}
		if got := rs.Decide(Request{Scheme: HTTPS, Method: c.method, Authority: a, Path: "/" + path}).Allow; got != c.allowed {
			t.Errorf("%q: %s %s allowed: %v", c.rules, c.method, c.target, got)
		}
	}
}

// smuggled are names that end like one below *.corp.test and mean another host to
// some part of a client, a proxy or a resolver.
var smuggled = []string{
	"evil.test\x00.corp.test", "evil.test%2e.corp.test", "evil.test%00.corp.test", "evil.test\r\n.corp.test", "evil.test\n.corp.test",
	"evil.test .corp.test", "evil.test\t.corp.test", "evil.test/.corp.test", "evil.test?.corp.test", "evil.test#.corp.test",
	"[evil.test].corp.test", "u@evil.test:443.corp.test", "evil.test:443.corp.test", `evil.test\.corp.test`, "evil.test,.corp.test",
	"evil.test%.corp.test", "évil.corp.test", "evil..corp.test", ".corp.test", "-evil.corp.test",
}

// TestPinned_SmuggledHosts: none becomes an authority, so none is ever compared with
// a rule, though a comparison of ends would let each one in.
func TestPinned_SmuggledHosts(t *testing.T) {
	for _, host := range smuggled {
		if !strings.HasSuffix(host, ".corp.test") {
			t.Errorf("%q proves nothing: it does not end like an allowed name", host)
		}
		for _, written := range []string{host, strings.ToUpper(host), host + "."} {
			if a, err := ParseAuthority(written, 443); err == nil {
				t.Errorf("%q became %v", written, a)
			}
			if a, err := AuthorityFrom(written, 443); err == nil {
				t.Errorf("the name %q became %v", written, a)
			}
		}
	}
	if slices.ContainsFunc([]string{"corp.test", "a.corp.test", "xn--vil-9la.corp.test"}, func(h string) bool { _, err := ParseAuthority(h, 443); return err != nil }) {
		t.Error("plain names are refused, too")
	}
}
