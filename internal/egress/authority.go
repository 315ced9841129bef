// Package egress is the language of what may leave a jail: authorities, rules,
// and the decision. It is pure: no I/O, no clock, no global state.
package egress

import "net/netip"

// Authority is a network name or address and a port. It is comparable, and only
// ParseAuthority makes one, so that CONNECT target, SNI, Host, the dialled name
// and the verified certificate are compared in one place and in one form.
type Authority struct {
	host string     // lower case, no trailing dot; empty when ip is valid
	ip   netip.Addr // unmapped, without a zone
	port uint16
}
