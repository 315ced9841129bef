package policy

import (
	"errors"
	"fmt"
	"strings"
)

// shellMeta are the characters that mean something to a shell when unquoted. A
// command that holds one was written for a shell and would silently do
// something else without it.
const shellMeta = "|&;<>()$`*?[]{}#~!"

var errQuote = errors.New("a quote is not closed")

// splitWords splits a command into words with POSIX quoting, without expansion.
// A ~/ at the start of a word is left to whoever knows the home.
func splitWords(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	open := false // a word has begun; it may still be empty
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == ' ' || c == '\t' || c == '\n':
			if open {
				words = append(words, word.String())
				word.Reset()
				open = false
			}
			continue
		case c == '\'':
			end := strings.IndexByte(s[i+1:], '\'')
			if end < 0 {
				return nil, errQuote
			}
			word.WriteString(s[i+1 : i+1+end])
			i += 1 + end
		case c == '"':
			n, err := doubleQuoted(s[i+1:], &word)
			if err != nil {
				return nil, err
			}
			i += n
		case c == '\\':
			if i++; i == len(s) {
				return nil, errors.New("ends in a backslash")
			}
			word.WriteByte(s[i])
		case c == '~' && !open && strings.HasPrefix(s[i:], "~/"):
			word.WriteByte(c)
		case strings.IndexByte(shellMeta, c) >= 0:
			return nil, fmt.Errorf("holds an unquoted %q, which only a shell understands", c)
		default:
			word.WriteByte(c)
		}
		open = true
	}
	if open {
		words = append(words, word.String())
	}
	return words, nil
}

// doubleQuoted appends the text up to the closing quote and returns how many
// bytes it took, the quote included.
func doubleQuoted(s string, word *strings.Builder) (int, error) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return i + 1, nil
		case c == '$' || c == '`':
			return 0, fmt.Errorf("holds a %q in double quotes, which only a shell expands", c)
		case c == '\\' && i+1 < len(s) && strings.IndexByte("\\\"$`", s[i+1]) >= 0:
			i++
			word.WriteByte(s[i])
		default:
			word.WriteByte(c)
		}
	}
	return 0, errQuote
}
