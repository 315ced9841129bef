package creds

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// window is what surrounds a needle when a hit is looked at closely: the longest
// encoding of the shortest placeholder on either side.
const window = 2 * minRun

// needles are what bodies are searched for, at the speed of bytes.Index: the
// marker in both cases and the base64 digits that it determines at each
// alignment. They say where to look closely, never that there is a placeholder.
var needles = append([][]byte{[]byte(marker), []byte(strings.ToUpper(marker))}, base64Needles()...)

func base64Needles() [][]byte {
	var out [][]byte
	for before := range 3 {
		digits := base64.RawURLEncoding.EncodeToString(append(make([]byte, before), marker...))
		from, to := (before*8+5)/6, (before+len(marker))*8/6
		out = append(out, []byte(digits[from:to]))
	}
	return out
}

// BodyFinder looks for placeholders in a body that streams by, also across the
// borders of chunks: as they are and in base64. The zero value is ready. It is for
// one body and one goroutine.
type BodyFinder struct {
	tail []byte
}

// Found reports whether chunk, with what came before it, holds a placeholder. A
// hit is reported at least once.
func (f *BodyFinder) Found(chunk []byte) bool {
	f.tail = append(f.tail, chunk[:min(len(chunk), window)]...)
	if findInBody(f.tail) || findInBody(chunk) {
		return true
	}
	if len(chunk) > window {
		f.tail = append(f.tail[:0], chunk[len(chunk)-window:]...)
	}
	f.tail = f.tail[max(0, len(f.tail)-window):]
	return false
}

// FindInBody reports whether one piece of a body holds a placeholder by itself. A
// BodyFinder sees those that are cut too.
func (t *Table) FindInBody(chunk []byte) bool { return findInBody(chunk) }

func findInBody(b []byte) bool {
	for _, needle := range needles {
		for rest := b; ; {
			i := bytes.Index(rest, needle)
			if i < 0 {
				break
			}
			at := len(b) - len(rest) + i
			if find(b[max(0, at-window):min(len(b), at+window)], 1) {
				return true
			}
			rest = rest[i+1:]
		}
	}
	return false
}
