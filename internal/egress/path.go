package egress

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const upperHex = "0123456789ABCDEF"

// NormalizePath returns the one form of an escaped request path that is judged
// and sent: escapes of unreserved characters are decoded, other escapes are in
// upper case, bytes that no URI may hold are escaped. It is idempotent.
//
// It refuses what no honest client sends: a path without its leading slash, a
// broken escape, control bytes, NUL in any form, a backslash, and dot segments,
// which clients remove before they send.
func NormalizePath(escaped string) (string, error) {
	if !strings.HasPrefix(escaped, "/") {
		return "", errors.New("path: it does not begin with a slash")
	}
	path, err := normalizeEscapes(escaped)
	if err != nil {
		return "", err
	}
	for seg := range strings.SplitSeq(path[1:], "/") {
		if seg == "." || seg == ".." {
			return "", errors.New("path: a dot segment")
		}
	}
	return path, nil
}

// normalizeEscapes does the part of NormalizePath that looks at single bytes.
func normalizeEscapes(s string) (string, error) {
	out := make([]byte, 0, len(s)+8)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%':
			v, ok := unescape(s[i:])
			if !ok {
				return "", errors.New("path: a broken percent escape")
			}
			if v == 0 {
				return "", errors.New("path: an escaped NUL")
			}
			out = appendByte(out, v, isUnreserved(v))
			i += 2
		case c <= ' ' || c == 0x7f || c == '\\' || c == '?' || c == '#':
			return "", fmt.Errorf("path: byte 0x%02x does not belong in a path", c)
		default:
			out = appendByte(out, c, isPathByte(c))
		}
	}
	return string(out), nil
}

// CheckPath says why a normalised path cannot be judged where a path matters: a
// server could decode or split it once more and serve another path than the one
// that was matched. A nil error means that there is one reading.
func CheckPath(path string) error {
	if strings.Contains(path, "//") {
		return errors.New("path: an empty segment (//)")
	}
	if err := checkEscapes(path); err != nil {
		return err
	}
	for seg := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		name, _, _ := strings.Cut(seg, ";")
		name, _, _ = strings.Cut(name, "%3B")
		if name == "." || name == ".." {
			return errors.New("path: a dot segment with parameters")
		}
	}
	return nil
}

func checkEscapes(path string) error {
	if !strings.Contains(path, "%") {
		return nil
	}
	raw := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		if path[i] != '%' {
			raw = append(raw, path[i])
			continue
		}
		v, ok := unescape(path[i:])
		switch {
		case !ok:
			return errors.New("path: a broken percent escape")
		case isUnreserved(v):
			return errors.New("path: not normalised")
		case v == '/' || v == '\\':
			return errors.New("path: an escaped slash or backslash")
		case v < ' ' || v == 0x7f:
			return errors.New("path: an escaped control byte")
		case v == '%' && twiceEscaped(path[i+3:]):
			return errors.New("path: a separator or dot that is escaped twice")
		}
		raw = append(raw, v)
		i += 2
	}
	if !utf8.Valid(raw) { // overlong forms of / and . among others
		return errors.New("path: escapes that are not UTF-8")
	}
	return nil
}

// twiceEscaped reports whether the text after %25 completes an escape of one of
// the characters that decide where a segment ends.
func twiceEscaped(rest string) bool {
	v, ok := unescape("%" + rest[:min(2, len(rest))])
	return ok && strings.IndexByte("./\\%\x00", v) >= 0
}

// unescape decodes the escape at the beginning of s.
func unescape(s string) (byte, bool) {
	if len(s) < 3 {
		return 0, false
	}
	hi, ok1 := unhex(s[1])
	lo, ok2 := unhex(s[2])
	return hi<<4 | lo, ok1 && ok2
}

func unhex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

func appendByte(out []byte, c byte, plain bool) []byte {
	if plain {
		return append(out, c)
	}
	return append(out, '%', upperHex[c>>4], upperHex[c&15])
}

func isUnreserved(c byte) bool {
	return isAlnum(c) || c == '-' || c == '.' || c == '_' || c == '~'
}

// isPathByte reports whether RFC 3986 lets c stand unescaped in a path.
func isPathByte(c byte) bool {
	return isUnreserved(c) || strings.IndexByte("/!$&'()*+,;=:@", c) >= 0
}
