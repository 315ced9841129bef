package creds

// Bounds of words in bytes.
const (
	maxName = 64
	maxWord = 128
)

// ValidName reports whether s may name a binding: lower-case letters, digits,
// dots, hyphens and underscores, beginning with a letter or a digit.
func ValidName(s string) bool {
	return spelled(s, maxName, func(c byte, first bool) bool {
		return lower(c) || digit(c) || !first && (c == '.' || c == '-' || c == '_')
	})
}

// ValidEnv reports whether s may name an environment variable.
func ValidEnv(s string) bool {
	return spelled(s, maxWord, func(c byte, first bool) bool {
		return letter(c) || c == '_' || !first && digit(c)
	})
}

func validHeader(s string) bool {
	return spelled(s, maxWord, func(c byte, first bool) bool {
		return letter(c) || digit(c) || !first && (c == '-' || c == '_')
	})
}

// spelled holds each byte of s to a rule. Regular expressions with such bounds
// take the client longer to compile than all else that it does before it starts.
func spelled(s string, longest int, may func(c byte, first bool) bool) bool {
	for i := range len(s) {
		if !may(s[i], i == 0) {
			return false
		}
	}
	return s != "" && len(s) <= longest
}

func lower(c byte) bool  { return 'a' <= c && c <= 'z' }
func letter(c byte) bool { return lower(c) || 'A' <= c && c <= 'Z' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }
