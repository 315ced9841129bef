package audit

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestS24_Escape(t *testing.T) {
	long := strings.Repeat("é", 300)
	for in, want := range map[string]string{
		"/repos/a b?":                     "/repos/a b?",
		"":                                "",
		"\x1b]52;c;eA==\a":                `\u{1b}]52;c;eA==\u{7}`,
		"a\nb\r\tc\x00":                   `a\u{a}b\u{d}\u{9}c\u{0}`,
		"evil\u202egpj.exe":               `evil\u{202e}gpj.exe`,
		"\u2066x\u2069\u200b\u200f":       `\u{2066}x\u{2069}\u{200b}\u{200f}`,
		"\u2028\u2029\u0085\u00a0":        `\u{2028}\u{2029}\u{85}\u{a0}`,
		"\xff\xc3(\xe2\x82":               `\u{ff}\u{c3}(\u{e2}\u{82}`,
		"\U000e0041":                      `\u{e0041}`,
		"grüße, 世界":                       "grüße, 世界",
		"\ufffd":                          "\ufffd",
		long:                              strings.Repeat("é", 126) + "…",
		strings.Repeat("x", 256):          strings.Repeat("x", 256),
		strings.Repeat("x", 257):          strings.Repeat("x", 253) + "…",
		strings.Repeat("x", 253) + "\x1b": strings.Repeat("x", 253) + "…",
	} {
		if got := Escape(in); got != want {
			t.Errorf("Escape(%q)\n got %q\nwant %q", in, got, want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[2J", "\u202e", "\xff\xfe", strings.Repeat("\x00", 100), `\u{1b}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Escape(s)
		if len(got) > foreignMax || !utf8.ValidString(got) {
			t.Fatalf("%d bytes: %q", len(got), got)
		}
		for _, r := range got {
			if !unicode.IsPrint(r) {
				t.Fatalf("%q holds %U", got, r)
			}
		}
		if again := Escape(got); again != got {
			t.Fatalf("escaped twice: %q, %q", got, again)
		}
	})
}

var words = []string{"", "a", "it's", "$(touch /tmp/x)", "`id`", "* evil.test/**", "a\nb", "-n", `\'`, "''", "!!", "~", "$HOME", "\"", "\x1b]0;", "a;b|c&d", "#x", "%s%n", "*", "世界"}

// echoed returns what a shell makes of the quoted word.
func echoed(t *testing.T, quoted string) string {
	t.Helper()
	if out, err := exec.Command("/bin/sh", "-n", "-c", "printf %s "+quoted).CombinedOutput(); err != nil {
		t.Fatalf("sh -n refuses %s: %s", quoted, out)
	}
	out, err := exec.Command("/bin/sh", "-c", "printf %s "+quoted).CombinedOutput()
	if err != nil {
		t.Fatalf("sh: %v: %s", err, out)
	}
	return string(out)
}

func TestS24_ShellQuote(t *testing.T) {
	for _, s := range words {
		if got := echoed(t, ShellQuote(s)); got != escape(s, 0) {
			t.Errorf("a shell reads %q as %q", s, got)
		}
	}
}

func FuzzShellQuote(f *testing.F) {
	for _, s := range words {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 8<<10 {
			return // argument lists have an end
		}
		if got := echoed(t, ShellQuote(s)); got != escape(s, 0) {
			t.Errorf("a shell reads %q as %q", s, got)
		}
	})
}

func FuzzVerify(f *testing.F) {
	var e encoder
	r := Record{Seq: 1, Kind: KindJail}
	lines := slices.Clone(e.line(&r))
	next := Record{Seq: 2, Kind: KindJail, Prev: r.Hash}
	f.Add(append(lines, e.line(&next)...))
	f.Add([]byte(`{"seq":1,"hash":""}` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := Verify(strings.NewReader(string(b))); err != nil {
			return
		}
		// What verifies does not verify with any one byte changed.
		for i := range b {
			c := []byte(string(b))
			c[i] ^= 0x01
			if _, err := Verify(strings.NewReader(string(c))); err == nil {
				t.Fatalf("byte %d of %q may be changed", i, b)
			}
		}
	})
}
