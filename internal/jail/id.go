package jail

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
)

// ID names a jail. Only NewID and ParseID make one, so an ID can be used as a
// file or cgroup name without another look.
type ID struct{ s string }

const idBytes = 8

// NewID returns a fresh random ID.
func NewID() ID {
	var b [idBytes]byte
	rand.Read(b[:]) // never fails since Go 1.24
	return ID{"j" + hex.EncodeToString(b[:])}
}

// ParseID accepts exactly what NewID makes: "j" and 16 lower-case hex digits.
func ParseID(s string) (ID, error) {
	if len(s) != 1+2*idBytes || s[0] != 'j' {
		return ID{}, fmt.Errorf("not a jail id: %.32q", s)
	}
	for _, c := range s[1:] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return ID{}, fmt.Errorf("not a jail id: %.32q", s)
		}
	}
	return ID{s}, nil
}

// String returns the ID as it is written everywhere; empty for the zero ID.
func (id ID) String() string { return id.s }

// IsZero reports whether id names no jail.
func (id ID) IsZero() bool { return id.s == "" }

// MarshalText implements encoding.TextMarshaler.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.s), nil }

// UnmarshalText implements encoding.TextUnmarshaler through ParseID.
func (id *ID) UnmarshalText(b []byte) (err error) {
	*id, err = ParseID(string(b))
	return err
}
