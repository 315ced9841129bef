package egress

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestParseRule(t *testing.T) {
	for text, want := range map[string]string{
		"GET api.github.com":                     "GET api.github.com/**",
		" get , head\tapi.github.com ":           "",
		"get, head\tAPI.GitHub.com ":             "GET,HEAD api.github.com/**",
		"HEAD,GET,GET h.example/a":               "GET,HEAD h.example/a",
		"* *.example.com/x/*":                    "* *.example.com/x/*",
		"*  h.example:443/":                      "* h.example/",
		"* h.example:8443":                       "* h.example:8443/**",
		"* h.example:*":                          "* h.example:*/**",
		"GET http://deb.debian.org":              "GET http://deb.debian.org/**",
		"GET http://deb.debian.org:443":          "GET http://deb.debian.org:443/**",
		"!* api.github.com/user/keys/**":         "!* api.github.com/user/keys/**",
		"! tcp://db.example:5432":                "!tcp://db.example:5432",
		"tcp://[2001:DB8::1]:22":                 "tcp://[2001:db8::1]:22",
		"* [2001:db8:0::1]/a":                    "* [2001:db8::1]/a",
		"* [::ffff:192.0.2.1]":                   "* 192.0.2.1/**",
		"* 192.0.2.1:8080":                       "* 192.0.2.1:8080/**",
		"* xn--bcher-kva.example":                "* xn--bcher-kva.example/**",
		"* h.example/a%7eb%2a":                   "* h.example/a~b%2A",
		"* h.example/?.json":                     "* h.example/?.json",
		"* *.github.io":                          "* *.github.io/**",
		"* *.corp":                               "* *.corp/**",
		"POST h.example/api/é":                   "POST h.example/api/%C3%A9",
		"PATCH,OPTIONS,DELETE,PUT,POST h.ex/a/b": "POST,PUT,DELETE,PATCH,OPTIONS h.ex/a/b",
	} {
		r, err := ParseRule(text)
		if want == "" {
			if err == nil {
				t.Errorf("ParseRule(%q) = %q, want an error", text, r)
			}
			continue
		}
		if err != nil {
			t.Errorf("ParseRule(%q): %v", text, err)
			continue
		}
		if r.String() != want {
			t.Errorf("ParseRule(%q) = %q, want %q", text, r, want)
		}
		checkRoundTrip(t, r)
	}
}

// checkRoundTrip holds that neither the string form nor JSON loses anything.
func checkRoundTrip(t *testing.T, r Rule) {
	t.Helper()
	again, err := ParseRule(r.String())
	again.Text = r.Text
	if err != nil || !reflect.DeepEqual(r, again) {
		t.Errorf("%q parses to %+v (%v), want %+v", r, again, err, r)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var decoded Rule
	if err := json.Unmarshal(b, &decoded); err != nil || !reflect.DeepEqual(r, decoded) {
		t.Errorf("JSON %s gives %+v (%v), want %+v", b, decoded, err, r)
	}
}

func TestParseRuleRefuses(t *testing.T) {
	for _, c := range []struct {
		text   string
		column int
		says   string
	}{
		{"", 1, "unknown method"},
		{"GET", 4, "host is missing"},
		{"GET ", 5, "host is missing"},
		{"api.github.com/**", 1, "begins with methods"},
		{"FETCH h.example", 1, "unknown method"},
		{"GET,CONNECT h.example", 5, "CONNECT is never forwarded"},
		{"TRACE h.example", 1, "TRACE is never forwarded"},
		{"GET,* h.example", 1, "* stands alone"},
		{"GET,,HEAD h.example", 5, "unknown method"},
		{"GET *", 5, "* alone"},
		{"GET *:443", 5, "* alone"},
		{"GET *.com", 5, "public suffix"},
		{"GET *.co.uk", 5, "public suffix"},
		{"GET a.*.example", 5, "only in front"},
		{"GET *example.com", 5, "only in front"},
		{"GET *.192.0.2.1", 5, "not a name"},
		{"GET https://h.example", 5, "leave https:// out"},
		{"GET ftp://h.example", 5, "unknown scheme"},
		{"GET tcp://h.example:1", 5, "unknown scheme"},
		{"GET h.example./a", 14, "trailing dot"},
		{"GET h.example.:443", 14, "trailing dot"},
		{"GET u@h.example", 6, "'@'"},
		{"GET h.example:/a", 14, "colon without a port"},
		{"GET h.example:0", 15, "65535"},
		{"GET h.example:0443", 15, "65535"},
		{"GET h.example:99999", 15, "65535"},
		{"GET h.example:+44", 15, "65535"},
		{"GET h.example?x=1", 14, "'?'"},
		{"GET 2001:db8::1", 5, "brackets"},
		{"GET [192.0.2.1]", 5, "only an IPv6"},
		{"GET [2001:db8::1", 5, "not closed"},
		{"GET [fe80::1%eth0]", 5, "zone"},
		{"GET 127.1", 5, "IPv4"},
		{"GET 0x7f000001", 5, "IPv4"},
		{"GET 0177.0.0.1", 5, "IPv4"},
		{"GET 127.0.0.1", 5, "own loopback"},
		{"GET localhost", 5, "own loopback"},
		{"GET 0.0.0.0", 5, "ever forwarded"},
		{"GET bücher.example", 5, "xn--"},
		{"GET h.example/a b", 17, "text after"},
		{"GET h.example/../b", 14, "dot segment"},
		{"GET h.example/%2e%2e/b", 14, "dot segment"},
		{"GET h.example/a%2fb", 14, "escaped slash"},
		{"GET h.example//b", 14, "empty segment"},
		{"GET h.example/a**", 14, "whole segments"},
		{"GET h.example/[ab]", 14, "%5B"},
		{"GET h.example/a#b", 14, "0x23"},
		{"GET h.example/a%zz", 14, "broken"},
		{"tcp://h.example", 16, "names its port"},
		{"tcp://h.example:22/a", 19, "no path"},
		{"GET h.example\n", 5, "host"},
		{"!!GET h.example", 2, "unknown method"},
	} {
		_, err := ParseRule(c.text)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("ParseRule(%q) = %v, want a SyntaxError", c.text, err)
			continue
		}
		if syntax.Column != c.column || !strings.Contains(syntax.Msg, c.says) {
			t.Errorf("ParseRule(%q): column %d: %s; want column %d and %q", c.text, syntax.Column, syntax.Msg, c.column, c.says)
		}
	}
}

func TestCheckLongForm(t *testing.T) {
	for name, c := range map[string]struct {
		rule Rule
		says string
	}{
		"ok":              {Rule{Host: "h.example", Port: 443, Query: map[string]string{"a": "*"}}, ""},
		"no host":         {Rule{Port: 443}, "host: missing"},
		"bad scheme":      {Rule{Host: "h.example", Scheme: "ftp"}, "scheme"},
		"no methods":      {Rule{Host: "h.example", Methods: []string{}}, "methods: the list is empty"},
		"negative body":   {Rule{Host: "h.example", MaxBody: -1}, "max_body"},
		"tcp with path":   {Rule{Host: "h.example", Scheme: TCP, Port: 1, Path: "/"}, "tcp rule"},
		"empty query key": {Rule{Host: "h.example", Query: map[string]string{"": "x"}}, "query"},
		"long glob":       {Rule{Host: "h.example", Path: "/" + strings.Repeat("a", maxGlob)}, "longer"},
	} {
		err := c.rule.Check()
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

func FuzzParseRule(f *testing.F) {
	for _, s := range []string{"GET,HEAD api.github.com/**", "!* *.d.example:*/a/?/*", "tcp://[::2]:1", "* http://1.2.3.4:80/%41"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRule(s)
		if err != nil {
			return
		}
		if err := r.Check(); err != nil {
			t.Errorf("ParseRule(%q) made a rule that Check refuses: %v", s, err)
		}
		checkRoundTrip(t, r)
	})
}
