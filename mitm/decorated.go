package mitm

import (
	"net/http"
	"time"

	"github.com/omnijail/omnijail/creds"
)

// undecorate removes from a reply what the credential earned beyond the reply
// itself. A session cookie would authenticate the jail without the credential,
// wherever the cookie is then carried: it stays outside and goes with the next
// request that has the credential.
func (x *exchange) undecorate(resp *http.Response) {
	if x.binding < 0 {
		return
	}
	table := x.g.Table
	cookies := table.Binding(x.binding).Cookies
	if cookies != creds.CookiesPass {
		if set := resp.Cookies(); len(set) > 0 && cookies != creds.CookiesDrop {
			for _, v := range x.g.jar.keep(x.jarKey, x.target.path, set, time.Now()) {
				table.Earned(x.binding, v)
			}
		}
		delete(resp.Header, "Set-Cookie")
		delete(resp.Header, "Set-Cookie2")
	}
	if stale := x.g.Stale; stale != nil && resp.StatusCode == http.StatusUnauthorized && x.cred.Action == creds.Attach {
		stale(x.binding)
	}
}

// inspector looks for placeholders in a body as it streams by. They are worthless
// outside, so by default they are noted and forwarded.
func (x *exchange) inspector() func([]byte) error {
	var finder creds.BodyFinder
	return func(chunk []byte) error {
		if x.inBody.Load() || !finder.Found(chunk) {
			return nil
		}
		x.inBody.Store(true)
		if x.g.BodyDeny {
			return refusePlaceholder()
		}
		return nil
	}
}
