package creds

import "bytes"

// minTail is how many characters after the marker make a placeholder of it.
const minTail = 32

// maxDepth is how many encodings on top of each other Find looks through.
const maxDepth = 2

// Find reports whether s holds something that looks like a placeholder, known or
// not: as it is, in any case of letters, percent-encoded once or twice, in base64
// of either alphabet at any alignment, in UTF-16, and in two of these combined.
// Its time is linear in s.
func Find(s string) bool { return find([]byte(s), maxDepth) }

func find(b []byte, depth int) bool {
	if len(b) < len(marker)+minTail {
		return false
	}
	if findPlain(b) {
		return true
	}
	if bytes.IndexByte(b, 0) >= 0 && findPlain(bytes.ReplaceAll(b, []byte{0}, nil)) {
		return true
	}
	if depth == 0 {
		return false
	}
	if bytes.IndexByte(b, '%') >= 0 && find(percentDecode(b), depth-1) {
		return true
	}
	return findBase64(b, depth)
}

// findPlain looks for the pattern itself: the marker and at least minTail
// characters of the URL-safe alphabet.
func findPlain(b []byte) bool {
	for i := 0; i+len(marker)+minTail <= len(b); i++ {
		j := bytes.IndexByte(b[i:], '_') // the marker's third byte
		if j < 0 {
			return false
		}
		i += j
		if start := i - 2; start >= 0 && isPattern(b[start:]) {
			return true
		}
	}
	return false
}

func isPattern(b []byte) bool {
	if len(b) < len(marker)+minTail || !bytes.EqualFold(b[:len(marker)], []byte(marker)) {
		return false
	}
	for _, c := range b[len(marker) : len(marker)+minTail] {
		if !isURLSafe(c) {
			return false
		}
	}
	return true
}

func isURLSafe(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || c == '_'
}

// percentDecode decodes the escapes that are whole and keeps the rest.
func percentDecode(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] == '%' && i+2 < len(b) {
			if hi, lo := unhex(b[i+1]), unhex(b[i+2]); hi >= 0 && lo >= 0 {
				out = append(out, byte(hi<<4|lo))
				i += 2
				continue
			}
		}
		out = append(out, b[i])
	}
	return out
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
