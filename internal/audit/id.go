package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// idKey makes the IDs of one journal. An ID is the record's number sent through
// a keyed permutation of 32 bits, so that IDs are unique for four thousand
// million records without a list of those given, and tell nobody how many
// records others cause.
type idKey [16]byte

const feistelRounds = 4

// id returns the ID of record seq: 8 lower-case hex digits.
func (k idKey) id(seq uint64) string {
	left, right := uint16(seq>>16), uint16(seq)
	for round := range byte(feistelRounds) {
		left, right = right, left^k.mix(round, right)
	}
	b := binary.BigEndian.AppendUint16(make([]byte, 0, 4), left)
	return hex.EncodeToString(binary.BigEndian.AppendUint16(b, right))
}

func (k idKey) mix(round byte, half uint16) uint16 {
	sum := sha256.Sum256(append(k[:], round, byte(half>>8), byte(half)))
	return uint16(sum[0])<<8 | uint16(sum[1])
}

// validID reports whether s looks like an ID.
func validID(s string) bool {
	if len(s) != 8 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
