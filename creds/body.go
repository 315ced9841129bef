package creds

// window is what is looked at on either side of a base64 needle, and what is kept
// of a chunk for the next: more than the shortest placeholder takes in base64.
const window = 2 * minRun

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
	f.tail = append(f.tail[:0], f.tail[max(0, len(f.tail)-window):]...)
	return false
}

// FindInBody reports whether one piece of a body holds a placeholder by itself. A
// BodyFinder sees those that are cut too.
func (t *Table) FindInBody(chunk []byte) bool { return findInBody(chunk) }
