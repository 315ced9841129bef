package mitm

import (
	"bytes"
	"unicode/utf8"
)

// tokenContext is how much of what went by is kept, in bytes: the name of a token, and
// what stands between it and the token.
const tokenContext = 256

// tokenFinder finds the tokens in a body, wherever they begin and in whatever pieces it
// comes. The zero value is ready. It is for one body and one goroutine.
type tokenFinder struct {
	tail    []byte // the last of what went by
	inside  bool   // a token is going by
	ends    byte   // of the latest token: '"' in JSON, '<' in XML, '&' in a form
	escaped bool   // its last byte makes the next one part of it
}

// next splits off what b begins with: plain bytes that are no token's, behind them the
// bytes of one, and whether it is whole with them.
func (f *tokenFinder) next(b []byte) (plain, token int, whole bool) {
	if !f.inside {
		if plain = f.start(b); !f.inside {
			return plain, 0, false
		}
	}
	token = f.over(b[plain:])
	return plain, token, !f.inside
}

// start says how many bytes of b, behind what went by, come before the first token.
func (f *tokenFinder) start(b []byte) int {
	window := append(f.tail, b...)
	if containsAny(window, mintedHints) {
		for _, at := range mintedToken.FindAllIndex(window, -1) {
			_, first := utf8.DecodeLastRune(window[:at[1]]) // the match has the first character of the token
			if from := at[1] - first - len(f.tail); from >= 0 {
				f.tail, f.inside, f.ends = nil, true, tokenEnd(window[at[0]])
				return from
			}
		}
	}
	f.tail = bytes.Clone(window[max(0, len(window)-tokenContext):])
	return len(b)
}

// tokenEnd is what ends a token whose name begins with a byte: in JSON, XML or a form.
func tokenEnd(begins byte) byte {
	switch begins {
	case '"', '<':
		return begins
	}
	return '&'
}

// over says how many bytes of b are the token's, and notices its end.
func (f *tokenFinder) over(b []byte) int {
	for i, c := range b {
		if c == f.ends && !f.escaped || f.ends == '&' && c == '\n' {
			f.inside = false
			return i
		}
		f.escaped = f.ends == '"' && c == '\\' && !f.escaped
	}
	return len(b)
}
