package egress

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Authority is a network name or address and a port. It is comparable, and only
// the parsers of this package make one, so that CONNECT target, SNI, Host, the
// dialled name and the verified certificate are compared in one place and in one
// form. The zero Authority names nothing and equals no parsed one.
type Authority struct {
	host string     // lower case, no trailing dot; empty when ip is valid
	ip   netip.Addr // unmapped, without a zone
	port uint16
}

// ParseAuthority parses "name", "name:port", "1.2.3.4:port" and "[v6]:port". A
// missing port is defaultPort, or an error when that is 0. Everything a lenient
// parser would repair is an error: user information, paths, blanks, an empty or
// zero-padded port, IPv4 in odd notation, an IPv6 zone, Unicode.
func ParseAuthority(s string, defaultPort uint16) (Authority, error) {
	host, port, err := splitAuthority(s, defaultPort)
	if err != nil {
		return Authority{}, fmt.Errorf("authority %.80q: %w", s, err)
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		ip, err := parseIPv6(strings.TrimSuffix(inner, "]"))
		if err != nil {
			return Authority{}, fmt.Errorf("authority %.80q: %w", s, err)
		}
		return Authority{ip: ip, port: port}, nil
	}
	if strings.Contains(host, ":") {
		return Authority{}, fmt.Errorf("authority %.80q: an IPv6 address needs brackets", s)
	}
	return AuthorityFrom(host, port)
}

// AuthorityFrom joins a name or an address (IPv6 without brackets) and a port,
// with the strictness of ParseAuthority.
func AuthorityFrom(host string, port uint16) (Authority, error) {
	if port == 0 {
		return Authority{}, fmt.Errorf("authority %.80q: port 0 is not a port", host)
	}
	var ip netip.Addr
	var err error
	switch {
	case strings.Contains(host, ":"):
		ip, err = parseIPv6(host)
	case endsInNumber(host):
		ip, err = parseIPv4(host)
	default:
		host, err = ParseHost(host)
		if err == nil {
			return Authority{host: host, port: port}, nil
		}
	}
	if err != nil {
		return Authority{}, fmt.Errorf("authority: %w", err)
	}
	return Authority{ip: ip, port: port}, nil
}

// AuthorityOf is the authority of an address that the kernel reported. It fails
// on an invalid address, on one with a zone and on port 0.
func AuthorityOf(ap netip.AddrPort) (Authority, error) {
	ip := ap.Addr().Unmap()
	if !ip.IsValid() || ip.Zone() != "" || ap.Port() == 0 {
		return Authority{}, fmt.Errorf("authority: %v is not a plain address and port", ap)
	}
	return Authority{ip: ip, port: ap.Port()}, nil
}

// Host returns the name, or the address without brackets.
func (a Authority) Host() string {
	if a.ip.IsValid() {
		return a.ip.String()
	}
	return a.host
}

// Port returns the port, 0 only for the zero Authority.
func (a Authority) Port() uint16 { return a.port }

// Addr returns the address of an authority that has no name.
func (a Authority) Addr() (netip.Addr, bool) { return a.ip, a.ip.IsValid() }

// String returns "name:port", "1.2.3.4:port" or "[v6]:port", and the empty
// string for the zero Authority.
func (a Authority) String() string {
	switch {
	case a.IsZero():
		return ""
	case a.ip.IsValid():
		return netip.AddrPortFrom(a.ip, a.port).String()
	}
	return a.host + ":" + strconv.Itoa(int(a.port))
}

// IsZero reports whether a names nothing.
func (a Authority) IsZero() bool { return a == Authority{} }

// MarshalText implements encoding.TextMarshaler as String.
func (a Authority) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler through ParseAuthority. The
// port must be there.
func (a *Authority) UnmarshalText(b []byte) (err error) {
	*a, err = ParseAuthority(string(b), 0)
	return err
}
