package lab

import (
	"net"
	"net/http"
)

// Serve has h answer for a name from now on, in the place of what every name
// serves. Requests for it are recorded like all others.
func (u *Upstream) Serve(name string, h http.Handler) { u.sites.Store(name, h) }

// site returns what answers for the host of r, nil for the usual.
func (u *Upstream) site(r *http.Request) http.Handler {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	if h, ok := u.sites.Load(host); ok {
		return h.(http.Handler)
	}
	return nil
}
