package mitm

import (
	"net/http"
	"net/url"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/egress"
)

// captureLocation keeps what signs the addresses that a reply sends the jail to, and
// reports whether there was any.
func (x *exchange) captureLocation(h http.Header) (found bool) {
	here, err := url.Parse(string(x.s.scheme) + "://" + hostHeader(x.s.scheme, x.s.authority) + x.target.path)
	if err != nil {
		return false
	}
	for i, location := range h["Location"] {
		to, err := here.Parse(location)
		if err != nil {
			continue
		}
		if signed, ok := x.keepAddress(to.String()); ok {
			h["Location"][i], found = signed, true
		}
	}
	return found
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
	if u.Path == "" {
		u.Path = "/" // as clients ask for it
	}
	path, err := egress.NormalizePath(u.EscapedPath())
	if err != nil {
		return "", false
	}
	query, err := creds.NewSecret([]byte(u.RawQuery))
	if err != nil {
		return "", false
	}
	if x.minted.tokens++; x.minted.tokens > maxMinted {
		u.RawQuery = x.maskToken(u.RawQuery)
		return u.String(), true
	}
	x.s.p.afford(captureWork)
	placeholder, ok := x.captured([]egress.Authority{at}, func() (string, bool) { return x.g.Table.CaptureQuery(x.binding, query, at, path) })
	u.RawQuery = placeholder
	return u.String(), ok
}
