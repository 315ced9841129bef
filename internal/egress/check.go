package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

const (
	maxQueryKeys = 16
	maxPrefixes  = 64
)

// canonical returns r with its defaults filled in and each field in the form that
// requests are compared with, or says what is wrong.
func (r Rule) canonical() (Rule, error) {
	if r.Scheme == "" {
		r.Scheme = HTTPS
	}
	if r.Scheme != HTTPS && r.Scheme != HTTP && r.Scheme != TCP {
		return r, fmt.Errorf("scheme %.16q: not https, http or tcp", r.Scheme)
	}
	if r.Open {
		return r, r.checkOpen()
	}
	var err error
	if r.Host, err = canonicalHost(r.Host); err != nil {
		return r, err
	}
	if r.Scheme == TCP {
		return r, r.checkTCP()
	}
	if r.Methods, err = canonicalMethods(r.Methods); err != nil {
		return r, err
	}
	if r.Path == "" {
		r.Path = AnyPath
	}
	if r.Path, err = canonicalGlob(r.Path); err != nil {
		return r, err
	}
	if err := r.checkQuery(); err != nil {
		return r, err
	}
	if r.MaxBody < 0 {
		return r, errors.New("max_body: a size is not negative")
	}
	if err := r.checkProtocols(); err != nil {
		return r, err
	}
	return r, r.checkPrivate()
}

// checkProtocols refuses protocols that the rule could never lead to.
func (r Rule) checkProtocols() error {
	switch {
	case r.Deny && (r.WebSocket || r.Range || r.PreferHTTP2):
		return errors.New("websocket, range, h2: have no meaning on a deny rule")
	case r.WebSocket && r.Methods != nil && !slices.Contains(r.Methods, "GET"):
		return errors.New("websocket: begins with a GET request, which the rule does not allow")
	case r.PreferHTTP2 && r.Scheme != HTTPS:
		return errors.New("h2: is settled in the TLS handshake, and the rule has none")
	}
	return r.checkUnread()
}

// checkUnread refuses what nobody could see in a connection that is passed on as
// it is.
func (r Rule) checkUnread() error {
	if !r.Unread {
		return nil
	}
	if r.Deny || r.Scheme != HTTPS {
		return errors.New("intercept: false is for rules that allow https")
	}
	if r.Methods != nil || r.Path != AnyPath || len(r.Query) > 0 || r.MaxBody != 0 || r.WebSocket || r.Range || r.PreferHTTP2 {
		return errors.New("intercept: false leaves no method, path, query, max_body, websocket, range or h2 to be seen: the rule may name only host and port")
	}
	return nil
}

func (r Rule) checkTCP() error {
	if r.Methods != nil || r.Path != "" || len(r.Query) > 0 || r.MaxBody != 0 || r.WebSocket || r.Range || r.PreferHTTP2 || r.Unread {
		return errors.New("a tcp rule has no methods, path, query, max_body, websocket, range, h2 or intercept: the stream is not inspected")
	}
	return r.checkPrivate()
}

func (r Rule) checkQuery() error {
	if len(r.Query) > maxQueryKeys {
		return fmt.Errorf("query: more than %d keys", maxQueryKeys)
	}
	for k, glob := range r.Query {
		if k == "" || len(k) > maxGlob || len(glob) > maxGlob {
			return fmt.Errorf("query: a key is empty, or a key or glob is longer than %d bytes", maxGlob)
		}
	}
	return nil
}

// checkPrivate refuses prefixes so wide that they open the node's whole
// neighbourhood by a slip, and prefixes on a rule that allows nothing.
func (r Rule) checkPrivate() error {
	if len(r.AllowPrivate) > 0 && r.Deny {
		return errors.New("allow_private: has no meaning on a deny rule")
	}
	if len(r.AllowPrivate) > maxPrefixes {
		return fmt.Errorf("allow_private: more than %d networks", maxPrefixes)
	}
	for _, p := range r.AllowPrivate {
		if !p.IsValid() || p.Bits() == 0 || p != p.Masked() {
			return fmt.Errorf("allow_private: %v is not a network such as 10.20.0.0/16", p)
		}
	}
	return nil
}

// canonicalMethods upper-cases, sorts into the order of Methods and drops
// duplicates; nil stays nil and means any.
func canonicalMethods(in []string) ([]string, error) {
	if in == nil {
		return nil, nil
	}
	if len(in) == 0 {
		return nil, errors.New("methods: the list is empty; write * for any")
	}
	var out []string
	for _, m := range in {
		switch up := strings.ToUpper(m); {
		case m == "*":
			if len(in) > 1 {
				return nil, errors.New("methods: * stands alone")
			}
			return nil, nil
		case up == "CONNECT" || up == "TRACE":
			return nil, fmt.Errorf("methods: %s is never forwarded", up)
		case !slices.Contains(Methods, up):
			return nil, fmt.Errorf("methods: unknown method %.32q (known: %s)", m, strings.Join(Methods, " "))
		default:
			out = append(out, up)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return slices.Index(Methods, a) - slices.Index(Methods, b) })
	return slices.Compact(out), nil
}

// canonicalHost accepts a name, an address or *.name.
func canonicalHost(host string) (string, error) {
	switch {
	case host == "":
		return "", errors.New("host: missing")
	case host == "*":
		return "", errors.New("host: * alone would open the whole network; name the hosts")
	case strings.HasSuffix(host, "."):
		return "", errors.New("host: leave the trailing dot out")
	case strings.HasPrefix(host, "["):
		return "", errors.New("host: an IPv6 address stands here without brackets")
	}
	if suffix, ok := strings.CutPrefix(host, "*."); ok {
		return canonicalWildcard(suffix)
	}
	if strings.Contains(host, "*") {
		return "", errors.New("host: * stands only in front, as in *.example.com")
	}
	a, err := AuthorityFrom(host, 1)
	if err != nil {
		return "", errors.Unwrap(err)
	}
	if ip, ok := a.Addr(); ok {
		return ip.String(), checkRuleAddr(ip)
	}
	return a.Host(), checkRuleName(a.Host())
}

func canonicalWildcard(suffix string) (string, error) {
	name, err := ParseHost(suffix)
	if err != nil {
		return "", err
	}
	if s, icann := publicsuffix.PublicSuffix(name); icann && s == name {
		return "", fmt.Errorf("host: *.%s covers a public suffix, where anyone can register a name", name)
	}
	return "*." + name, checkRuleName(name)
}

// checkRuleName and checkRuleAddr refuse hosts that could never match: the jail's
// own loopback is not intercepted, and nothing is forwarded to these addresses.
func checkRuleName(name string) error {
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return fmt.Errorf("host: %s is the jail's own loopback and needs no rule", name)
	}
	return nil
}

func checkRuleAddr(ip netip.Addr) error {
	switch {
	case ip.IsLoopback():
		return fmt.Errorf("host: %s is the jail's own loopback and needs no rule", ip)
	case ip.IsUnspecified() || ip.IsMulticast():
		return fmt.Errorf("host: nothing is ever forwarded to %s", ip)
	}
	return nil
}
