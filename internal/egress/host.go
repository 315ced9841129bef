package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

const (
	maxName  = 253
	maxLabel = 63
)

// ParseHost accepts one DNS name and returns it in the form used everywhere:
// lower case, one trailing dot removed. Unicode is refused (its xn-- form is
// accepted), and so is a name that some resolver would read as an address.
func ParseHost(s string) (string, error) {
	name := strings.TrimSuffix(s, ".")
	if name == "" {
		return "", fmt.Errorf("host %.80q: the name is empty", s)
	}
	if len(name) > maxName {
		return "", fmt.Errorf("host %.80q: longer than %d bytes", s, maxName)
	}
	for label := range strings.SplitSeq(name, ".") {
		if err := checkLabel(label); err != nil {
			return "", fmt.Errorf("host %.80q: %w", s, err)
		}
	}
	if endsInNumber(name) {
		return "", fmt.Errorf("host %.80q: an address, not a name", s)
	}
	return strings.ToLower(name), nil
}

// checkLabel accepts letters, digits, hyphens inside, and underscores, which
// real names have although host names should not.
func checkLabel(label string) error {
	switch {
	case label == "":
		return errors.New("an empty label")
	case len(label) > maxLabel:
		return fmt.Errorf("a label longer than %d bytes", maxLabel)
	case label[0] == '-' || label[len(label)-1] == '-':
		return fmt.Errorf("label %q begins or ends with a hyphen", label)
	}
	for _, c := range label {
		switch {
		case c >= 0x80:
			return errors.New("not ASCII: use the xn-- form")
		case !isAlnum(byte(c)) && c != '-' && c != '_':
			return fmt.Errorf("%q does not belong in a name", c)
		}
	}
	return nil
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// endsInNumber reports whether a resolver might take s for an IPv4 address: its
// last label is decimal or 0x-hexadecimal, as in 127.1, 2130706433 or 0x7f000001.
func endsInNumber(s string) bool {
	s = strings.TrimSuffix(s, ".")
	last := s[strings.LastIndexByte(s, '.')+1:]
	if len(last) >= 2 && last[0] == '0' && last[1]|0x20 == 'x' {
		return strings.Trim(last[2:], "0123456789abcdefABCDEF") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

func parseIPv4(s string) (netip.Addr, error) {
	ip, err := netip.ParseAddr(s)
	if err != nil || !ip.Is4() {
		return netip.Addr{}, fmt.Errorf("host %.80q: an IPv4 address is four decimal numbers without leading zeros", s)
	}
	return ip, nil
}

// parseIPv6 returns a v4-mapped address as the IPv4 address it stands for.
func parseIPv6(s string) (netip.Addr, error) {
	ip, err := netip.ParseAddr(s)
	switch {
	case err != nil || ip.Is4():
		return netip.Addr{}, fmt.Errorf("host %.80q: not an IPv6 address", s)
	case ip.Zone() != "":
		return netip.Addr{}, fmt.Errorf("host %.80q: an IPv6 zone means nothing outside this node", s)
	}
	return ip.Unmap(), nil
}

// splitAuthority cuts the port off. The host is returned with its brackets.
func splitAuthority(s string, defaultPort uint16) (host string, port uint16, err error) {
	end := strings.LastIndexByte(s, ':')
	if strings.HasPrefix(s, "[") {
		closing := strings.IndexByte(s, ']')
		if closing < 0 {
			return "", 0, errors.New("a bracket is not closed")
		}
		if end = closing + 1; end == len(s) {
			end = -1
		} else if s[end] != ':' {
			return "", 0, errors.New("text after the bracket")
		}
	}
	if end < 0 {
		if defaultPort == 0 {
			return "", 0, errors.New("the port is missing")
		}
		return s, defaultPort, nil
	}
	port, err = parsePort(s[end+1:])
	return s[:end], port, err
}

func parsePort(s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || s[0] == '0' || s[0] == '+' {
		return 0, fmt.Errorf("port %.16q: not a number from 1 to 65535 without leading zeros", s)
	}
	return uint16(n), nil
}
