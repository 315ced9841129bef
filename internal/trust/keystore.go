package trust

import (
	"crypto/sha1" // the format's own digest; it protects nothing, and Java refuses the file without
	"encoding/binary"
	"fmt"
	"hash"
	"unicode/utf16"
)

// A Java key store (JKS, version 2): magic, version and number of entries, then
// per trusted certificate a tag, alias, date, type and the DER, then SHA-1 over
// the password, a fixed phrase and all of that.
const (
	jksMagic    = 0xfeedfeed
	jksVersion  = 2
	jksTrusted  = 2
	jksPassword = "changeit" // every JDK's own cacerts has this one
	jksPhrase   = "Mighty Aphrodite"
)

// keyStore is a store of the node's roots that lacks one last certificate. The
// digest so far is kept, so that finishing costs a copy and one short hash.
type keyStore struct {
	prefix []byte
	digest hash.Cloner
}

func newKeyStore(roots [][]byte) keyStore {
	b := binary.BigEndian.AppendUint32(nil, jksMagic)
	b = binary.BigEndian.AppendUint32(b, jksVersion)
	b = binary.BigEndian.AppendUint32(b, uint32(len(roots)+1))
	for i, der := range roots {
		b = appendTrusted(b, fmt.Sprintf("node-%d", i), der)
	}
	h := sha1.New()
	for _, c := range utf16.Encode([]rune(jksPassword)) {
		h.Write([]byte{byte(c >> 8), byte(c)})
	}
	h.Write([]byte(jksPhrase))
	h.Write(b)
	return keyStore{prefix: b, digest: h.(hash.Cloner)}
}

// finish returns the store with one more certificate.
func (k keyStore) finish(der []byte) ([]byte, error) {
	h, err := k.digest.Clone()
	if err != nil {
		return nil, fmt.Errorf("java key store: %w", err)
	}
	entry := appendTrusted(nil, "omnijail", der)
	h.Write(entry)
	out := make([]byte, 0, len(k.prefix)+len(entry)+sha1.Size)
	out = append(append(out, k.prefix...), entry...)
	return h.Sum(out), nil
}

func appendTrusted(b []byte, alias string, der []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, jksTrusted)
	b = appendJavaString(b, alias)
	b = binary.BigEndian.AppendUint64(b, 0) // the date of entry; nothing reads it
	b = appendJavaString(b, "X.509")
	b = binary.BigEndian.AppendUint32(b, uint32(len(der)))
	return append(b, der...)
}

// appendJavaString appends an ASCII string as Java's writeUTF does.
func appendJavaString(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}
