package creds

import "slices"

// WebSocket reports whether a credential is bound to host, on whatever port and
// path, and whether all of these bindings open it to WebSockets. What comes back
// over one may hold whatever the host was told before.
func (t *Table) WebSocket(host string) (bound, open bool) {
	open = true
	for _, r := range t.all() {
		if !r.dropped.Load() && slices.ContainsFunc(r.Targets, func(t Target) bool { return t.Authority.Host() == host }) {
			bound, open = true, open && r.WebSocket
		}
	}
	return bound, open
}
