package creds

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
)

// MinSearched is the length in bytes of the shortest text that a reply is searched
// for. Shorter ones stand in every page.
const MinSearched = 4

// forms returns what a reply may hold of a value of this binding: the value and
// what it becomes in a Basic header, each as it is and in the usual encodings. They
// are in lower case, because the search takes no notice of it.
func (b Binding) forms(value string) []string {
	out := variants(value)
	for _, t := range b.Targets {
		if t.Scheme == SchemeBasic {
			out = append(out, variants(base64.StdEncoding.EncodeToString([]byte(b.Username+":"+value)))...)
		}
	}
	return out
}

// variants returns v in each encoding that is searched for, none twice and none
// too short to mean anything.
func variants(v string) []string {
	out := []string{v, reversed(v), hex.EncodeToString([]byte(v))}
	out = append(out, base64Of(v)...)
	out = append(out, eachByte(v, "%c\x00"), eachByte(v, "\x00%c")) // UTF-16 of ASCII
	out = append(out, url.QueryEscape(v), url.PathEscape(v), eachByte(v, "%%%02x"))
	out = append(out, jsonOf(v)...)
	out = append(out, html.EscapeString(v), strings.NewReplacer("&#34;", "&quot;", "&#39;", "&apos;").Replace(html.EscapeString(v)))
	for i := range out {
		out[i] = string(folded([]byte(out[i])))
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(s string) bool { return len(s) < MinSearched })
}

func reversed(v string) string {
	b := []byte(v)
	slices.Reverse(b)
	return string(b)
}

// base64Of returns the digits that v determines at each alignment, in both
// alphabets, and v encoded alone. Padding follows or does not, and is no secret.
func base64Of(v string) []string {
	var out []string
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		out = append(out, enc.EncodeToString([]byte(v)))
		for before := range 3 {
			digits := enc.EncodeToString(append(make([]byte, before), v...))
			if from, to := (before*8+5)/6, (before+len(v))*8/6; from < to {
				out = append(out, digits[from:to])
			}
		}
	}
	return out
}

// jsonOf returns v as it stands in a JSON string, by the rules of several encoders.
func jsonOf(v string) []string {
	var plain strings.Builder
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	enc.Encode(v) // a string always encodes
	careful, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("omnijail: internal error: a string does not encode: %v", err))
	}
	inner := strings.TrimSuffix(plain.String(), "\n")
	inner = inner[1 : len(inner)-1]
	return []string{
		inner, string(careful[1 : len(careful)-1]),
		strings.ReplaceAll(inner, "/", `\/`), eachByte(v, `\u%04x`),
	}
}

func eachByte(v, format string) string {
	var b strings.Builder
	for i := range len(v) {
		fmt.Fprintf(&b, format, v[i])
	}
	return b.String()
}

// fold maps a byte to what the search compares: letters have no case.
var fold = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
		if 'A' <= i && i <= 'Z' {
			t[i] |= 0x20
		}
	}
	return t
}()

// folded folds b in place.
func folded(b []byte) []byte {
	for i, c := range b {
		b[i] = fold[c]
	}
	return b
}
