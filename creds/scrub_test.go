package creds

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

const scrubbed = `gh"p/Zq7+Wm<3&Lr9$Tx 2Vé8`

// searchTable is a table with a Bearer and a Basic binding that hold values.
func searchTable(t testing.TB, values ...string) *Table {
	t.Helper()
	var bs []Binding
	for i := range values {
		b := Defaults(Binding{Name: fmt.Sprint("b", i), Type: []Type{Bearer, Basic}[i%2], Username: []string{"", "mona"}[i%2],
			Sources: []Source{{Kind: SourceEnv, Env: "X"}}}, "")
		a, path, err := ParseTarget(fmt.Sprintf("h%d.test", i))
		if err != nil {
			t.Fatal(err)
		}
		b.Targets = []Target{{Authority: a, Path: path}}
		bs = append(bs, Defaults(b, ""))
	}
	table, err := NewTable(bs)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range values {
		s, err := NewSecret([]byte(v))
		if err != nil {
			t.Fatal(err)
		}
		table.Resolve(i, 1, s, nil)
	}
	return table
}

// pieces scrubs text in pieces that end where cut says, and returns all of it.
func pieces(table *Table, text string, cut func(rest int) int) (string, int) {
	var out bytes.Buffer
	hits, s := 0, table.NewScrubber()
	for rest := []byte(text); len(rest) > 0; {
		n := min(max(cut(len(rest)), 1), len(rest))
		b, h := s.Next(bytes.Clone(rest[:n]))
		out.Write(b)
		hits += h
		rest = rest[n:]
	}
	out.Write(s.Rest())
	return out.String(), hits
}

// read scrubs text as it is read into a buffer of size bytes, in pieces that end
// where cut says.
func read(table *Table, text string, size int, cut func() int) string {
	var out bytes.Buffer
	s, src, p := table.NewScrubber(), &cutReader{text, cut}, make([]byte, size)
	for {
		b, _, err := s.Read(src, p)
		out.Write(b)
		if err != nil {
			out.Write(s.Rest())
			return out.String()
		}
	}
}

type cutReader struct {
	rest string
	cut  func() int
}

func (r *cutReader) Read(p []byte) (int, error) {
	n := copy(p, r.rest[:min(len(r.rest), r.cut())])
	if r.rest = r.rest[n:]; r.rest == "" {
		return n, io.EOF
	}
	return n, nil
}

// masked is what the search must do, slowly: each form wherever it stands.
func masked(m *Matcher, text string) string {
	low, out := string(folded([]byte(text))), []byte(text)
	for _, f := range m.forms {
		for at := 0; ; at++ {
			i := strings.Index(low[at:], f)
			if i < 0 {
				break
			}
			at += i
			cover(out[at : at+len(f)])
		}
	}
	return string(out)
}

func TestA58_FormsOfASecret(t *testing.T) {
	table := searchTable(t, "first-value-of-b0", scrubbed)
	basic := base64.StdEncoding.EncodeToString([]byte("mona:" + scrubbed))
	for name, text := range map[string]string{
		"raw":            scrubbed,
		"other case":     strings.ToUpper(scrubbed[:23]) + scrubbed[23:],
		"bearer":         "Bearer " + scrubbed,
		"reversed":       reversed(scrubbed),
		"hex":            hex.EncodeToString([]byte(scrubbed)),
		"upper hex":      strings.ToUpper(hex.EncodeToString([]byte(scrubbed))),
		"json":           `{"t":"gh\"p/Zq7+Wm<3&Lr9$Tx 2Vé8"}`,
		"careful json":   `{"t":"gh\"p/Zq7+Wm\u003c3\u0026Lr9$Tx 2Vé8"}`,
		"php json":       `{"t":"gh\"p\/Zq7+Wm<3&Lr9$Tx 2Vé8"}`,
		"query":          "x=gh%22p%2FZq7%2BWm%3C3%26Lr9%24Tx+2V%C3%A98&y",
		"path":           "/gh%22p%2fZq7+Wm%3c3&Lr9$Tx%202V%c3%a98/",
		"html":           "<b>gh&#34;p/Zq7+Wm&lt;3&amp;Lr9$Tx 2Vé8</b>",
		"all percent":    eachByte(scrubbed, "%%%02X"),
		"all json":       eachByte(scrubbed, `\u%04X`),
		"utf-16":         eachByte("first-value-of-b0", "%c\x00"),
		"basic":          "Basic " + basic,
		"basic unpadded": strings.TrimRight(basic, "="),
		"basic in hex":   hex.EncodeToString([]byte(basic)),
		"basic twice":    base64.StdEncoding.EncodeToString([]byte("Basic " + basic)),
	} {
		for _, cut := range []func(int) int{func(n int) int { return n }, func(int) int { return 1 }, func(int) int { return 3 }} {
			out, hits := pieces(table, "<"+text+">", cut)
			if hits == 0 || len(out) != len(text)+2 || out[0] != '<' || out[len(out)-1] != '>' || !strings.Contains(out, "****") {
				t.Errorf("%s: %d hits, %q", name, hits, out)
			}
		}
	}
}

// TestA58_Base64AtEachAlignment holds that whatever stands before the value, what
// base64 makes of it is masked but for a digit at each end that the neighbours share.
func TestA58_Base64AtEachAlignment(t *testing.T) {
	table := searchTable(t, scrubbed)
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding} {
		for before := range 6 {
			text := enc.EncodeToString([]byte(strings.Repeat("x", before) + scrubbed + "yy"))
			out, hits := pieces(table, text, func(int) int { return 2 })
			want := len(scrubbed)*4/3 - 2
			if hits == 0 || len(out) != len(text) || strings.Count(out, "*") < want {
				t.Errorf("%d before: %q of %q", before, out, text)
			}
		}
	}
}

// TestA60_NothingIsHeldButALiveBeginning gives each event in one piece and wants it
// back at once.
func TestA60_NothingIsHeldButALiveBeginning(t *testing.T) {
	s := searchTable(t, scrubbed).NewScrubber()
	for _, event := range []string{"data: 1\n\n", ": keep-alive\n\n", "data: " + scrubbed + "\n\n", `{"x":1}` + "\n"} {
		out, _ := s.Next([]byte(event))
		if len(out) != len(event) {
			t.Errorf("%q: %q was passed on", event, out)
		}
	}
	if out, _ := s.Next([]byte("abc " + scrubbed[:5])); string(out) != "abc " {
		t.Errorf("a beginning: %q was passed on", out)
	}
	if out, hits := s.Next([]byte(scrubbed[5:] + ".")); string(out) != strings.Repeat("*", len(scrubbed))+"." || hits != 1 {
		t.Errorf("%q passed on, %d hits", out, hits)
	}
}

func TestA86_TwoGenerationsAreSearchedFor(t *testing.T) {
	table := searchTable(t, "generation-number-one")
	second, _ := NewSecret([]byte("generation-number-two"))
	table.Resolve(0, 2, second, nil)
	out, hits := pieces(table, "generation-number-one generation-number-two", func(n int) int { return n })
	if hits != 2 || strings.Contains(out, "number") {
		t.Errorf("%q", out)
	}
}

func TestAMatcherThatChangesInAStream(t *testing.T) {
	table := searchTable(t, "generation-number-one")
	s := table.NewScrubber()
	out, _ := s.Next([]byte("a session-"))
	next, _ := s.Next([]byte("cook"))
	table.Earned(0, "session-cookie-of-a-login")
	last, hits := s.Next([]byte("ie-of-a-login session-cookie-of-a-login."))
	if all := string(out) + string(next) + string(last); hits != 1 || !strings.HasSuffix(all, strings.Repeat("*", 25)+".") {
		t.Errorf("%d hits, %q", hits, all)
	}
}

// TestA67_Transformations shows what the search does not find: the claim's limit.
func TestA67_Transformations(t *testing.T) {
	table := searchTable(t, "0123456789abcdefghij")
	lines := base64.StdEncoding.EncodeToString([]byte("0123456789abcdefghij"))
	for name, text := range map[string]string{
		"with separators": "0-1-2-3-4-5-6-7-8-9-a-b-c-d-e-f-g-h-i-j",
		"half of it":      "0123456789",
		"rot13":           "0123456789nopqrstuvw",
		"base64 of lines": lines[:12] + "\n" + lines[12:],
		"numbered HTML":   eachByte("0123456789abcdefghij", "&#%d;"),
	} {
		if out, hits := pieces(table, text, func(n int) int { return n }); hits != 0 || out != text {
			t.Errorf("%s is found: say so where it is said that it is not", name)
		}
	}
}

// FuzzScrub holds the search to the slow one, wherever the stream is cut, and that no
// form is left in the output.
func FuzzScrub(f *testing.F) {
	f.Add([]byte("x "+scrubbed+" y"), uint64(1))
	f.Add([]byte(scrubbed[:9]+scrubbed), uint64(7))
	f.Add([]byte("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabaaaa"), uint64(3))
	f.Add([]byte(base64.StdEncoding.EncodeToString([]byte("mona:aaaaaaaaaaaaaaaaaaaab"))), uint64(9))
	table := searchTable(f, scrubbed, "aaaaaaaaaaaaaaaaaaaab")
	m := table.Matcher()
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		text := string(data)
		if at := rnd.IntN(len(text) + 1); seed%2 == 0 {
			text = text[:at] + m.forms[rnd.IntN(len(m.forms))] + text[at:]
		}
		around := strings.Repeat("ab\\u00%3dYW=\x00", 64)
		text = around[:rnd.IntN(len(around))] + text + around[:rnd.IntN(len(around))]
		whole, _ := pieces(table, text, func(n int) int { return n })
		if want := masked(m, text); whole != want {
			t.Fatalf("%q\nbecomes %q\nwant    %q", text, whole, want)
		}
		if parts, _ := pieces(table, text, func(int) int { return 1 + rnd.IntN(12) }); parts != whole {
			t.Fatalf("in pieces %q, whole %q", parts, whole)
		}
		if got := read(table, text, 1+rnd.IntN(600), func() int { return 1 + rnd.IntN(400) }); got != whole {
			t.Fatalf("as read %q, whole %q", got, whole)
		}
		low := string(folded([]byte(whole)))
		if i := slices.IndexFunc(m.forms, func(form string) bool { return strings.Contains(low, form) }); i >= 0 {
			t.Fatalf("%q is left in %q", m.forms[i], whole)
		}
	})
}

// TestS19_WhatAHostWasToldBeforeIsSearchedFor: another policy for the jail does not
// make a host forget.
func TestS19_WhatAHostWasToldBeforeIsSearchedFor(t *testing.T) {
	first := searchTable(t, "generation-number-one")
	table := first
	for range 3 {
		next, err := table.Next(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		table = next
	}
	if !table.Searched("h0.test") || table.Searched("h1.test") {
		t.Error("the host that was told is not searched, or another is")
	}
	late, _ := NewSecret([]byte("generation-number-two"))
	first.Resolve(0, 2, late, nil)
	if out, hits := pieces(table, "generation-number-one generation-number-two", func(n int) int { return n }); hits != 2 {
		t.Errorf("%q", out)
	}
	if bound, _ := table.WebSocket("h0.test"); bound {
		t.Error("it is still bound")
	}
}
