package creds

import (
	"crypto/subtle"
	"strings"
)

// carries reports whether a header holds exactly this binding's placeholder in a
// form that its type allows.
func (r *row) carries(name, value string) bool {
	if r.placeholder == "" || name != r.HeaderName() {
		return false
	}
	value = strings.Trim(value, " \t")
	if r.Type == Header {
		return same(value, r.placeholder) || same(value, r.Prefix+r.placeholder)
	}
	at := strings.IndexAny(value, " \t")
	if at < 0 {
		return false
	}
	scheme, rest := strings.ToLower(value[:at]), strings.Trim(value[at:], " \t")
	switch scheme {
	case "bearer", "token":
		return (r.Type == Bearer || r.Type == GH) && same(rest, r.placeholder)
	case "basic":
		return r.Type != Bearer && r.carriesBasic(rest)
	}
	return false
}

// same compares in a time that says nothing of where a guess goes wrong.
func same(guess, placeholder string) bool {
	return subtle.ConstantTimeCompare([]byte(guess), []byte(placeholder)) == 1
}

// carriesBasic wants the placeholder as the whole password and nothing of one in
// the user name.
func (r *row) carriesBasic(payload string) bool {
	decoded, ok := decodeBasic(payload)
	if !ok {
		return false
	}
	user, password, ok := strings.Cut(decoded, ":")
	return ok && same(password, r.placeholder) && !Find(user)
}

// decodeBasic takes what servers take: both alphabets, padded or not, blanks in
// between.
func decodeBasic(payload string) (string, bool) {
	payload = strings.TrimRight(payload, "=")
	run := make([]byte, 0, len(payload))
	for i := range len(payload) {
		switch v := sextet[payload[i]]; v {
		case -1:
			return "", false
		case -2: // a blank
		default:
			run = append(run, byte(v))
		}
	}
	return string(joinSextets(run)), len(run)%4 != 1
}
