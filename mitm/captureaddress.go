package mitm

import (
	"net/http"
	"net/url"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/egress"
)

// captureLocation keeps what signs the address that a reply sends the jail to.
func (x *exchange) captureLocation(h http.Header) {
	here := url.URL{Scheme: string(x.s.scheme), Host: x.s.authority.String(), Path: "/"}
	to, err := here.Parse(h.Get("Location"))
	if err != nil {
		return
	}
	if signed, ok := x.keepAddress(to.String()); ok {
		h["Location"] = []string{signed}
	}
}

// keepAddress returns an address that a reply has signed with a placeholder in the
// place of its query, and false for any other.
func (x *exchange) keepAddress(address string) (string, bool) {
	if !bearerURL.MatchString(address) {
		return "", false
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != string(egress.HTTPS) || u.User != nil {
		return "", false
	}
	at, err := egress.ParseAuthority(u.Host, egress.HTTPS.Port())
	if err != nil {
		return "", false
	}
	path, err := egress.NormalizePath(u.EscapedPath())
	if err != nil {
		return "", false
	}
	query, err := creds.NewSecret([]byte(u.RawQuery))
	if err != nil {
		return "", false
	}
	placeholder, ok := x.captured([]egress.Authority{at}, func() (string, bool) { return x.g.Table.CaptureQuery(x.binding, query, at, path) })
	u.RawQuery = placeholder
	return u.String(), ok
}
