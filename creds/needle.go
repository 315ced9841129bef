package creds

import (
	"bytes"
	"encoding/base64"
	"strings"
	"sync"
)

// needle is what a body is searched for: the marker, or the base64 digits that it
// determines at one alignment. The latter only say where to look closely.
type needle struct {
	text  string
	plain bool
}

var needles = func() []needle {
	out := []needle{{marker, true}}
	for before := range 3 {
		digits := base64.RawURLEncoding.EncodeToString(append(make([]byte, before), marker...))
		from, to := (before*8+5)/6, (before+len(marker))*8/6
		out = append(out, needle{digits[from:to], false})
	}
	return out
}()

// stride is the length of the shortest needle; longer ones are searched for by
// their beginning.
const stride = len(marker)

// skips says, for two bytes, how far the end of a window of stride bytes can move
// on before it could end a needle (Wu and Manber's search). A body is touched once
// in about seven bytes. It is made for who searches: most programs that know of
// credentials do not, and start a tenth of a millisecond sooner.
var skips = sync.OnceValue(func() *[1 << 16]uint8 {
	t := new([1 << 16]uint8)
	for i := range t {
		t[i] = uint8(stride - 1)
	}
	for _, n := range needles {
		for i := range stride - 1 {
			for _, pair := range spellings(n.text[i:i+2], n.plain) {
				k := int(pair[0])<<8 | int(pair[1])
				t[k] = min(t[k], uint8(stride-2-i))
			}
		}
	}
	return t
})

// spellings returns the two bytes in every case of letters, if case is open.
func spellings(pair string, open bool) []string {
	if !open {
		return []string{pair}
	}
	lower, upper := strings.ToLower(pair), strings.ToUpper(pair)
	return []string{lower, upper, lower[:1] + upper[1:], upper[:1] + lower[1:]}
}

// findInBody reports whether b holds a placeholder, as it is or in base64.
func findInBody(b []byte) bool {
	skips := skips()
	for end := stride - 2; end+1 < len(b); {
		skip := skips[int(b[end])<<8|int(b[end+1])]
		if skip == 0 {
			if confirmed(b, end+2-stride) {
				return true
			}
			skip = 1
		}
		end += int(skip)
	}
	return false
}

// confirmed looks closely at a place where a needle may begin.
func confirmed(b []byte, at int) bool {
	for _, n := range needles {
		switch {
		case n.plain:
			if isPattern(b[at:]) {
				return true
			}
		case bytes.HasPrefix(b[at:], []byte(n.text)):
			if find(b[max(0, at-window):min(len(b), at+window)], 1) {
				return true
			}
		}
	}
	return false
}
