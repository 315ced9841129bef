package creds

// BodyFinder looks for placeholders in a body that streams by, also across the
// borders of chunks: as it is, percent-encoded and in base64. The zero value is
// ready. It is for one body and one goroutine.
type BodyFinder struct {
	tail []byte
}

// overlap covers the longest encoding that Find sees through: twice
// percent-encoded, five characters for one.
const overlap = 5*(len(marker)+minTail) + 8

// Found reports whether chunk, with what came before it, holds a placeholder. A
// hit is reported at least once.
func (f *BodyFinder) Found(chunk []byte) bool {
	if len(f.tail) > 0 && f.foundAcross(chunk[:min(len(chunk), overlap)]) {
		return true
	}
	if find(chunk, 1) {
		return true
	}
	f.tail = append(f.tail, chunk[max(0, len(chunk)-overlap):]...)
	f.tail = f.tail[max(0, len(f.tail)-overlap):]
	return false
}

func (f *BodyFinder) foundAcross(head []byte) bool {
	return find(append(f.tail[:len(f.tail):len(f.tail)], head...), 1)
}

// FindInBody reports whether one piece of a body holds a placeholder by itself. A
// BodyFinder sees those that are cut too.
func (t *Table) FindInBody(chunk []byte) bool { return find(chunk, 1) }
