package egress

import (
	"net/url"
	"path"
	"strings"
	"testing"
)

func TestNormalizePath(t *testing.T) {
	for in, want := range map[string]string{
		"/":               "/",
		"/a%7Eb%2d":       "/a~b-",
		"/a%2fb%5c%2F":    "/a%2Fb%5C%2F",
		"/@scope%2fname":  "/@scope%2Fname",
		"//a//":           "//a//",
		"/a|b{c}\"<>^`[]": "/a%7Cb%7Bc%7D%22%3C%3E%5E%60%5B%5D",
		"/é":              "/%C3%A9",
		"/%2541":          "/%2541",
		"/...":            "/...",
		"/.a/b.":          "/.a/b.",
		"/a;b=c":          "/a;b=c",
		"/a%0ab":          "/a%0Ab",
		"":                "", "a": "", "*": "", "http://h/": "", "/a b": "", "/a\tb": "", "/a\x00": "", "/a\x7f": "",
		"/a%": "", "/a%2": "", "/a%zz": "", "/a%%41": "", "/a%00": "", "/a\\b": "", "/a?b": "", "/a#b": "",
		"/..": "", "/.": "", "/a/../b": "", "/a/./b": "", "/a/%2e%2E/b": "", "/a/.%2e": "", "/%2e": "",
	} {
		got, err := NormalizePath(in)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("NormalizePath(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}

// TestS30_SecondDecoding holds that a path which a server could decode once more,
// or cut at a parameter, is not judged where the path matters.
func TestS30_SecondDecoding(t *testing.T) {
	for _, raw := range []string{
		"/a//b", "//", "/a%2fb", "/a%5cb", "/a%0d%0ab", "/a%7f", "/%252e%252e/b", "/a%252fb", "/a%255cb", "/a%2500", "/a%25252e",
		"/..;/b", "/a/.;x=1/b", "/a/..%3b/b", "/..;", "/%2e%2e;/b", "/a%c0%af..", "/%c0%ae%c0%ae/", "/a%ff",
	} {
		p, err := NormalizePath(raw)
		if err != nil {
			continue
		}
		if CheckPath(p) == nil {
			t.Errorf("%q (%q) counts as having one reading", raw, p)
		}
		scoped := compile(t, "* h.example/a/**", "* h.example/*")
		if v := scoped.Decide(request(t, "GET", "h.example", p)); v.Allow || !v.Ambiguous {
			t.Errorf("%q: %+v, want ambiguous", raw, v)
		}
		denied := compile(t, "* h.example", "!* h.example/secret/**")
		if v := denied.Decide(request(t, "GET", "h.example", p)); v.Allow || !v.Ambiguous {
			t.Errorf("%q beside a deny rule: %+v, want ambiguous", raw, v)
		}
		whole := compile(t, "* h.example", "!POST h.example/secret/**")
		if v := whole.Decide(request(t, "GET", "h.example", p)); !v.Allow {
			t.Errorf("%q under a rule for the whole host: %+v, want allowed", raw, v)
		}
	}
	for _, p := range []string{"/", "/a/", "/a%20b", "/a%25b", "/100%25", "/%C3%A9", "/a;b/c", "/...;/", "/%40a"} {
		if err := CheckPath(p); err != nil {
			t.Errorf("CheckPath(%q): %v", p, err)
		}
	}
	if CheckPath("/%2e%2e/") == nil || CheckPath("/../") == nil || CheckPath("/%41") == nil {
		t.Error("a path that is not normalised counts as having one reading")
	}
}

// FuzzNormalizePath holds that the form is stable and that what CheckPath lets
// through means the same to a decoder that cleans, to one that decodes twice and
// to one that cuts parameters off.
func FuzzNormalizePath(f *testing.F) {
	for _, s := range []string{"/a/b", "/a%2e%2e/b", "/..;/a", "/%252e%252e/x", "/a//b", "/é|", "/a%c0%afb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		norm, err := NormalizePath(s)
		if err != nil {
			return
		}
		if again, err := NormalizePath(norm); err != nil || again != norm {
			t.Fatalf("%q normalises to %q and then to %q, %v", s, norm, again, err)
		}
		u, err := url.ParseRequestURI(norm)
		if err == nil && u.EscapedPath() != norm && !strings.HasPrefix(norm, "//") {
			t.Errorf("%q: net/url would send %q", norm, u.EscapedPath())
		}
		if CheckPath(norm) != nil {
			return
		}
		once, err := url.PathUnescape(norm)
		if err != nil {
			t.Fatalf("%q does not decode: %v", norm, err)
		}
		if cleaned := path.Clean(once); strings.TrimSuffix(once, "/") != strings.TrimSuffix(cleaned, "/") {
			t.Errorf("%q cleans to %q", norm, cleaned)
		}
		if strings.Count(once, "/") != strings.Count(norm, "/") {
			t.Errorf("%q has other segments once decoded", norm)
		}
		if twice, err := url.PathUnescape(once); err == nil && strings.Count(twice, "/") != strings.Count(norm, "/") {
			t.Errorf("%q has other segments once decoded twice", norm)
		}
		for seg := range strings.SplitSeq(once, "/") {
			if name, _, _ := strings.Cut(seg, ";"); name == ".." || name == "." {
				t.Errorf("%q has a dot segment once parameters are cut", norm)
			}
		}
	})
}
