package wire

import "fmt"

// JailIDSize is the length of a jail's id: "j" and 16 lower-case hex digits.
const JailIDSize = 17

func (b *fields) jail(id string) error {
	if !isJailID(id) {
		return fmt.Errorf("not a jail id: %.32q", id)
	}
	*b = append(*b, id...)
	return nil
}

func (r *reader) jail() string {
	id := string(r.take(JailIDSize))
	if !isJailID(id) {
		r.fail("not a jail id")
	}
	return id
}

func isJailID(s string) bool {
	if len(s) != JailIDSize || s[0] != 'j' {
		return false
	}
	for _, c := range []byte(s[1:]) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
