package creds

import (
	"encoding/base64"
	"net/http"
)

const authorization = "Authorization"

// Render returns the header value that carries a secret. It is only as printable
// as the secret itself.
func Render(scheme Scheme, username, prefix string, secret []byte) string {
	switch scheme {
	case SchemeBearer:
		return "Bearer " + string(secret)
	case SchemeToken:
		return "token " + string(secret)
	case SchemeBasic:
		return "Basic " + base64.StdEncoding.EncodeToString(append([]byte(username+":"), secret...))
	case SchemeHeader:
		return prefix + string(secret)
	}
	panic("omnijail: internal error: rendering of an unchecked scheme")
}

// HeaderName is the canonical name of the header that carries the credential.
func (b Binding) HeaderName() string {
	if b.Type == Header {
		return http.CanonicalHeaderKey(b.Header)
	}
	return authorization
}
