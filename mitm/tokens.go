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
	window := b
	if len(f.tail) > 0 {
		window = append(f.tail, b...)
	}
	if at, ok := firstToken(window, len(f.tail)); ok {
		f.ends = tokenEnd(window[at.match])
		at.from -= len(f.tail)
		f.tail, f.inside = nil, true
		return at.from
	}
	f.tail = bytes.Clone(window[max(0, len(window)-tokenContext):])
	return len(b)
}

// tokenAt is where a token begins, and where what announces it does.
type tokenAt struct{ match, from int }

// firstToken finds the first token that begins behind the first known bytes of window.
func firstToken(window []byte, known int) (tokenAt, bool) {
	if !containsAny(window, mintedHints) {
		return tokenAt{}, false
	}
	for n := 1; ; n++ { // mostly the first match is the one: a reply may be full of them
		all := mintedToken.FindAllIndex(window, n)
		if len(all) < n {
			return tokenAt{}, false
		}
		last := all[n-1]
		_, first := utf8.DecodeLastRune(window[:last[1]]) // the match has the first character of the token
		if from := last[1] - first; from >= known {
			return tokenAt{last[0], from}, true
		}
	}
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
