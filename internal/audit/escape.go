package audit

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	foreignMax = 256  // bytes of a foreign string that are kept
	ownMax     = 1024 // bytes of a sentence of the daemon's that are kept
	cut        = "…"
)

// Escape makes a foreign string fit to be stored and printed: whatever a
// terminal would not show as itself (control and bidi characters, invisible
// ones, bytes that are not UTF-8) becomes \u{…} in hex, and what is longer than
// 256 bytes is cut and ends in "…". Escaping twice changes nothing more.
func Escape(s string) string { return escape(s, foreignMax) }

// escape cuts at max bytes; 0 means no limit.
func escape(s string, max int) string {
	if plain(s) && (max == 0 || len(s) <= max) {
		return s
	}
	var out strings.Builder
	fits := 0 // bytes of out that leave room for the mark
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		out.WriteString(show(s[i:i+size], r))
		i += size
		if max == 0 {
			continue
		}
		if out.Len() <= max-len(cut) {
			fits = out.Len()
		}
		if out.Len() > max {
			return out.String()[:fits] + cut
		}
	}
	return out.String()
}

// show returns one character, or what stands for it.
func show(s string, r rune) string {
	switch {
	case r == utf8.RuneError && len(s) == 1:
		return fmt.Sprintf(`\u{%x}`, s[0])
	case !unicode.IsPrint(r):
		return fmt.Sprintf(`\u{%x}`, r)
	}
	return s
}

// plain reports whether s is valid UTF-8 and all printable.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f {
			return plainText(s[i:])
		}
	}
	return true
}

func plainText(s string) bool {
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)) || !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// ShellQuote returns s as one word of a POSIX shell, in which nothing expands.
// A string that is not printable is escaped first: the word then no longer means
// s, and is still safe to paste.
func ShellQuote(s string) string {
	return "'" + strings.ReplaceAll(escape(s, 0), "'", `'\''`) + "'"
}
