package egress

import (
	"regexp"
	"strings"
	"testing"
)

func TestMatchPath(t *testing.T) {
	for _, c := range []struct {
		glob, path string
		want       bool
	}{
		{"/**", "/", true}, {"/**", "/a/b", true},
		{"/a", "/a", true}, {"/a", "/a/", false}, {"/a", "/ab", false},
		{"/a/**", "/a", true}, {"/a/**", "/a/", true}, {"/a/**", "/a/b/c", true}, {"/a/**", "/ab", false},
		{"/a/*", "/a/b", true}, {"/a/*", "/a/", false}, {"/a/*", "/a/b/c", false}, {"/a/*", "/a", false},
		{"/repos/**/issues", "/repos/issues", true}, {"/repos/**/issues", "/repos/a/b/issues", true},
		{"/repos/**/issues", "/repos/evilissues", false}, {"/repos/**/issues", "/repos/a/issues/b", false},
		{"/**/**/x", "/x", true}, {"/a*c", "/abbc", true}, {"/a*c", "/ac", true}, {"/a*c", "/a/c", false},
		{"/a?c", "/abc", true}, {"/a?c", "/ac", false}, {"/a?c", "/a/c", false}, {"/a?c", "/a%20c", true},
		{"/a??", "/a%20", false}, {"/*20", "/%20", false}, {"/*.git/*", "/r.git/info", true},
		{"/**/b/**/b", "/b/a/b", true}, {"/**/b/**/b", "/b", false},
	} {
		if got := MatchPath(c.glob, c.path); got != c.want {
			t.Errorf("MatchPath(%q, %q) = %v, want %v", c.glob, c.path, got, c.want)
		}
	}
}

// TestS30_GlobsAreLinear holds that hostile globs and paths cost no more than
// their lengths multiplied: a tree of possibilities would never end.
func TestS30_GlobsAreLinear(t *testing.T) {
	for glob, path := range map[string]string{
		strings.Repeat("/**/a", 100) + "/b": "/" + strings.Repeat("a/", 4000) + "c",
		"/" + strings.Repeat("*a", 400):     "/" + strings.Repeat("a", 8000) + "b",
		strings.Repeat("/**/*a*a*b", 90):    strings.Repeat("/aaaaaaaa", 900),
	} {
		if MatchPath(glob, path) {
			t.Errorf("%.20q… matches", glob)
		}
	}
}

// globRE is the meaning of a glob, said in another language.
func globRE(glob string) *regexp.Regexp {
	var b strings.Builder
	for _, seg := range segments(glob) {
		if seg == "**" {
			b.WriteString(`(/[^/]*)*`)
			continue
		}
		b.WriteString("/")
		if seg == "*" {
			b.WriteString("[^/]+")
			continue
		}
		for _, c := range seg {
			switch c {
			case '*':
				b.WriteString(`(%[0-9A-F]{2}|[^/%])*`)
			case '?':
				b.WriteString(`(%[0-9A-F]{2}|[^/%])`)
			default:
				b.WriteString(regexp.QuoteMeta(string(c)))
			}
		}
	}
	return regexp.MustCompile("^" + b.String() + "$")
}

func FuzzMatchPath(f *testing.F) {
	f.Add("/repos/**/issues", "/repos/a/issues")
	f.Add("/**/**/**/x?*", "/a/b/xyz")
	f.Add("/a*b*c/**", "/aXbYc")
	f.Fuzz(func(t *testing.T, glob, path string) {
		glob, err := canonicalGlob(glob)
		if err != nil {
			return
		}
		path, err = NormalizePath(path)
		if err != nil {
			return
		}
		got := MatchPath(glob, path)
		if want := globRE(glob).MatchString(path); got != want {
			t.Errorf("MatchPath(%q, %q) = %v, the regular expression says %v", glob, path, got, want)
		}
		literal, err := canonicalGlob(path)
		if err == nil && got && !strings.Contains(path, "*") && !GlobsMeet(glob, literal) {
			t.Errorf("%q matches %q, but they do not meet", glob, path)
		}
	})
}

func TestGlobsMeet(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"/**", "/a", true}, {"/a/**", "/b/**", false}, {"/a/**", "/a", true}, {"/a/*", "/a/b/c", false},
		{"/*/x", "/a/*", true}, {"/**/x", "/**/y", false}, {"/a*", "/*b", true}, {"/a*", "/b*", false},
		{"/*a", "/*b", false}, {"/a", "/a/", false}, {"/a?", "/ab", true}, {"/abc", "/ab", false}, {"/", "/**/a", false},
		{"/**/a/**", "/b/**", true}, {"/repos/a/**", "/repos/*/issues", true}, {"/repos/a/**", "/repos/b/issues", false},
	} {
		if GlobsMeet(c.a, c.b) != c.want || GlobsMeet(c.b, c.a) != c.want {
			t.Errorf("GlobsMeet(%q, %q) is not %v both ways", c.a, c.b, c.want)
		}
	}
}

func TestNotes(t *testing.T) {
	for text, want := range map[string]int{
		"* *.github.io": 1, "* github.io": 0, "* *.example.com": 0, "* h.example/a/**/b": 1, "* h.example/**/b": 0, "!* h.example/a/**/b": 0, "* *.corp": 0,
	} {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		if notes := r.Notes(); len(notes) != want {
			t.Errorf("%s: notes %q, want %d", text, notes, want)
		}
	}
}
