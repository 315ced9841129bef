package policy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func seeds(f *testing.F) {
	f.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "-- policy.yaml --\n")
		policy, _, _ := strings.Cut(rest, "\n-- ")
		f.Add(policy + "\n")
	}
}

// A file that decodes means the same after the wire, grants nothing of the
// jail's own, and has an error at a place in it otherwise.
func FuzzYAML(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := tryInline(text)
		if err != nil {
			if len(asErrors(t, err)) == 0 || len(err.Error()) == 0 {
				t.Fatal("refused without a reason")
			}
			return
		}
		again := newFlat(doc.tree, "", nil)
		if again.Digest != doc.Ref.Digest {
			t.Fatal("the digest changes on the way")
		}
		spec, err := Compile(doc, request(), facts())
		if err != nil {
			return
		}
		for _, g := range spec.View.Grants {
			for _, own := range []string{"/", "/proc", "/etc", "/usr", "/home/alice", "/tmp"} {
				if g.Path == own {
					t.Fatalf("%s is granted", own)
				}
			}
		}
		for _, line := range strings.Split(Show(doc, "/"), "\n") {
			if !printable(line) {
				t.Fatalf("show prints %q", line)
			}
		}
	})
}

func FuzzFlat(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"egress_rules":["GET a.example.com"]}`, `{"doc":{"write_paths":["/srv"]},"origins":{"write_paths[0]":"x:1"},"path":"/p.yaml"}`,
		`{"extends":["github-read"]}`, `{"doc":[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]}`, `{"a":1,"a":2}`, `{"env":{"A":1e999}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		doc, err := DecodeFlat(raw, 1000)
		if err != nil {
			asErrors(t, err)
			return
		}
		if doc.Closed || doc.Ref.OwnerUID != 1000 || !json.Valid(raw) {
			t.Fatalf("decoded to %+v", doc.Ref)
		}
	})
}

// Words that need no shell come out as a shell would split them.
func FuzzSplitWords(f *testing.F) {
	for _, s := range []string{`gh auth token`, `a 'b c' "d \" e" f\ g`, `''`, `~/bin/x ~`, `a "$b"`, "a\\", `'`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		words, err := splitWords(s)
		if err != nil {
			return
		}
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
		}
		again, err := splitWords(strings.Join(quoted, " "))
		if err != nil || strings.Join(again, "\x00") != strings.Join(words, "\x00") {
			t.Fatalf("%q: %q, then %q (%v)", s, words, again, err)
		}
	})
}

func TestSplitWords(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string // nil: refused
	}{
		{"gh auth token", []string{"gh", "auth", "token"}},
		{` a  'b c' "d e" f\ g `, []string{"a", "b c", "d e", "f g"}},
		{`a ''`, []string{"a", ""}},
		{`"a\"b\\c\d"`, []string{`a"b\c\d`}},
		{`~/bin/x`, []string{"~/bin/x"}},
		{`a | b`, nil}, {`a $X`, nil}, {`a "$X"`, nil}, {"a `b`", nil}, {`a > b`, nil}, {`a *`, nil}, {`a; b`, nil},
		{`a 'b`, nil}, {`a "b`, nil}, {`a \`, nil}, {`~bob/x`, nil}, {`!x`, nil},
	} {
		got, err := splitWords(tt.text)
		if tt.want == nil && err == nil || strings.Join(got, "\x00") != strings.Join(tt.want, "\x00") {
			t.Errorf("%q: %q, %v", tt.text, got, err)
		}
	}
}

func TestCeilings(t *testing.T) {
	deep := strings.Repeat("[", 40) + strings.Repeat("]", 40)
	many := `{"egress_rules":["GET a.example.com` + strings.Repeat(`","GET a.example.com`, maxItems) + `"]}`
	wide := strings.Builder{}
	wide.WriteString(`{"env":{"A":"1"`)
	for i := range maxKeys + 1 {
		wide.WriteString(`,"A` + strings.Repeat("x", i%7) + string(rune('A'+i%26)) + strings.Repeat("y", i/26) + `":"1"`)
	}
	wide.WriteString("}}")
	for name, raw := range map[string]string{
		"depth": `{"env":` + deep + `}`, "rules": many, "paths": strings.ReplaceAll(many, "egress_rules", "cwd_allow_hidden"), "keys": wide.String(),
		"size":      `{"description":"` + strings.Repeat("x", maxBytes) + `"}`,
		"not UTF-8": "{\"description\":\"\xff\"}", "two values": `{}{}`, "nothing": ``, "null": `null`,
	} {
		if _, err := DecodeFlat([]byte(raw), 1000); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if len(raw) < 1000 && name != "nothing" && name != "null" {
			if _, err := tryInline(raw); err == nil {
				t.Errorf("%s: accepted as a file", name)
			}
		}
	}
}
