package creds

// minRun is how many base64 characters the shortest placeholder needs.
const minRun = (len(marker) + minTail) * 4 / 3

// sextet maps the characters of both base64 alphabets to their values, others to
// -1. Blanks and line breaks, which lenient decoders skip, are -2.
var sextet = func() (t [256]int8) {
	for i := range t {
		t[i] = -1
	}
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range len(alphabet) {
		t[alphabet[i]] = int8(i)
	}
	t['-'], t['_'] = 62, 63
	t[' '], t['\t'], t['\r'], t['\n'] = -2, -2, -2, -2
	return t
}()

// findBase64 looks into each run of base64 characters at its four alignments.
func findBase64(b []byte, depth int) bool {
	var run []byte
	for i := 0; i <= len(b); i++ {
		v := int8(-1)
		if i < len(b) {
			v = sextet[b[i]]
		}
		if v >= 0 {
			run = append(run, byte(v))
			continue
		}
		if v == -2 {
			continue
		}
		if len(run) >= minRun && findInRun(run, depth) {
			return true
		}
		run = run[:0]
	}
	return false
}

func findInRun(run []byte, depth int) bool {
	for offset := range 4 {
		if find(joinSextets(run[offset:]), depth-1) {
			return true
		}
	}
	return false
}

// joinSextets decodes whole groups; what is left over of a group is kept too, as
// unpadded text has it.
func joinSextets(run []byte) []byte {
	out := make([]byte, 0, len(run)*3/4)
	var bits uint32
	for i, v := range run {
		bits = bits<<6 | uint32(v)
		switch i % 4 {
		case 1:
			out = append(out, byte(bits>>4))
		case 2:
			out = append(out, byte(bits>>2))
		case 3:
			out = append(out, byte(bits))
		}
	}
	return out
}
