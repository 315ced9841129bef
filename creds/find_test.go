package creds

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"
)

func percentAll(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02x", s[i])
	}
	return b.String()
}

func utf16le(s string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		b.WriteByte(byte(u))
		b.WriteByte(byte(u >> 8))
	}
	return b.String()
}

// disguises are the ways in which a placeholder is hidden that must not help.
func disguises(ph string) map[string]string {
	std, url64 := base64.StdEncoding, base64.RawURLEncoding
	d := map[string]string{
		"plain":             ph,
		"embedded":          "x" + ph + "y",
		"upper case":        strings.ToUpper(ph),
		"unknown":           marker + strings.Repeat("A", minTail),
		"percent marker":    "%6fa%5Fcred_" + strings.TrimPrefix(ph, marker),
		"percent once":      percentAll(ph),
		"percent twice":     url.QueryEscape(percentAll(ph)),
		"base64 std":        std.EncodeToString([]byte(ph)),
		"base64 user":       std.EncodeToString([]byte("user:" + ph)),
		"base64 user name":  std.EncodeToString([]byte(ph + ":x")),
		"base64 of base64":  std.EncodeToString([]byte(std.EncodeToString([]byte("u:" + ph)))),
		"base64 percent":    url.QueryEscape(std.EncodeToString([]byte("??>>" + ph))),
		"base64 unpadded":   url64.EncodeToString([]byte("ab" + ph)),
		"base64 with blank": "Basic " + std.EncodeToString([]byte(ph))[:20] + " \t" + std.EncodeToString([]byte(ph))[20:],
		"base64 in a run":   "abcde" + std.EncodeToString([]byte(ph)),
		"utf-16 in base64":  std.EncodeToString([]byte(utf16le("u:" + ph))),
		"utf-16 percent":    percentAll(utf16le(ph)),
	}
	for i := range 3 {
		d[fmt.Sprintf("base64 alignment %d", i)] = std.EncodeToString([]byte(strings.Repeat("~", i) + ph))
	}
	return d
}

func TestFindDisguises(t *testing.T) {
	for _, shape := range []string{"", "github", "openai"} {
		for name, s := range disguises(mint(shape)) {
			if !Find(s) {
				t.Errorf("%s, shape %q: not found in %q", name, shape, s)
			}
		}
	}
}

func TestFindLeavesOthersAlone(t *testing.T) {
	for _, s := range []string{
		"", marker, marker + strings.Repeat("a", minTail-1), "oa_cred_test and more text follows here, plain",
		"Bearer ghp_" + strings.Repeat("a", 36), strings.Repeat("oa_cred", 20), strings.Repeat("%5f", 50),
		strings.Repeat("A", 4096), "sha256-" + strings.Repeat("q83v", 30),
	} {
		if Find(s) {
			t.Errorf("found a placeholder in %q", s)
		}
	}
}

func TestPlaceholdersDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		p := mint("")
		if seen[p] || !Find(p) {
			t.Fatalf("mint gave %q twice or unrecognisable", p)
		}
		seen[p] = true
	}
}

func TestBodyFinder(t *testing.T) {
	ph := mint("github")
	bodies := map[string]string{
		"json":   `{"k":"` + ph + `"}`,
		"form":   "a=b&token=" + url.QueryEscape(ph),
		"base64": `{"content":"` + base64.StdEncoding.EncodeToString([]byte("GH_TOKEN="+ph)) + `"}`,
		"upper":  strings.ToUpper(ph),
	}
	for name, body := range bodies {
		body = strings.Repeat("x_o ", 200) + body + strings.Repeat(" tail", 100)
		for _, size := range []int{1, 7, 64, 1000, len(body)} {
			if !stream(body, size) {
				t.Errorf("%s in chunks of %d: not found", name, size)
			}
		}
	}
	clean := strings.Repeat("oa_cred_ nothing here; b2FfY3JlZF8 ", 500)
	for _, size := range []int{1, 64, len(clean)} {
		if stream(clean, size) {
			t.Errorf("chunks of %d: found a placeholder in a clean body", size)
		}
	}
}

func stream(body string, size int) bool {
	var f BodyFinder
	for len(body) > 0 {
		n := min(size, len(body))
		if f.Found([]byte(body[:n])) {
			return true
		}
		body = body[n:]
	}
	return false
}

var (
	patternRE = regexp.MustCompile(`(?i:oa_cred_)[A-Za-z0-9_-]{32}`)
	mintedRE  = regexp.MustCompile(`oa_cred_[A-Za-z0-9_-]{32}`)
)

func FuzzFind(f *testing.F) {
	f.Add("xoa_cred_"+strings.Repeat("A_", 16), 1)
	f.Add("%6f_oa_cred_"+strings.Repeat("-", 31), 3)
	f.Add(base64.StdEncoding.EncodeToString([]byte("u:"+mint(""))), 10)
	f.Fuzz(func(t *testing.T, s string, size int) {
		plain := patternRE.MatchString(s)
		if plain && !Find(s) {
			t.Errorf("Find misses the pattern in %q", s)
		}
		wrapped := base64.StdEncoding.EncodeToString([]byte(s))
		if plain && (!Find(wrapped) || !Find(percentAll(s))) {
			t.Errorf("Find misses the encoded pattern of %q", s)
		}
		if plain && !stream(s, max(1, size%97)) {
			t.Errorf("BodyFinder misses the pattern in %q", s)
		}
		minted := mintedRE.MatchString(s) // the case of letters that we make
		if minted && !stream(wrapped, max(1, size%97)) {
			t.Errorf("BodyFinder misses the pattern in %q", wrapped)
		}
	})
}

func BenchmarkFindHeader(b *testing.B) {
	s := "Bearer " + strings.Repeat("eyJhbGciOiJSUzI1NiIs", 40)
	for b.Loop() {
		Find(s)
	}
}

func BenchmarkBodyFinder(b *testing.B) {
	chunk := []byte(strings.Repeat("some text of a body, \x00\x01 with_odd bytes o", 1600))
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		var f BodyFinder
		f.Found(chunk)
	}
}
