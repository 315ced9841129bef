package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/guard"
)

// Upstream is the operator's own answer for names and roots.
type Upstream struct {
	// Hosts maps NAME or NAME:PORT (default 443) to the one address and port that
	// is dialled for it, exempt from the private-address guard for exactly that. A
	// metadata service's is refused.
	Hosts map[string]Host `yaml:"hosts"`
	// CAFiles are extra roots, read at start and on reload.
	CAFiles []string `yaml:"ca_files"`
	// Proxy is a corporate proxy (IP:PORT) that takes CONNECT: all but what Hosts
	// and egress.private name goes through it. It looks names up, so that their
	// addresses are its to judge; it is told only names that a rule has allowed.
	Proxy string `yaml:"proxy"`
	// ProxyLogin is a file with USER:PASSWORD for the proxy, which root alone may
	// read. It is read when an egress process starts.
	ProxyLogin string `yaml:"proxy_login"`
	// DNS is the resolver to ask (IP:PORT); default the node's own.
	DNS string `yaml:"dns"`
}

// Host is what is dialled for one name; a plain IP:PORT is short for {address}.
type Host struct {
	Address  netip.AddrPort // where the connection goes
	Users    []string       // names or ids; empty: every caller
	Policies []string       // names; empty: every policy
}

// UnmarshalYAML accepts IP:PORT or the mapping.
func (h *Host) UnmarshalYAML(n *yaml.Node) error {
	var long struct {
		Address  string   `yaml:"address"`
		Users    []string `yaml:"users"`
		Policies []string `yaml:"policies"`
	}
	if n.Kind == yaml.ScalarNode {
		long.Address = n.Value
	} else if err := n.Load(&long, yaml.WithKnownFields()); err != nil {
		return err
	}
	a, err := netip.ParseAddrPort(long.Address)
	if err != nil || a.Port() == 0 {
		return fmt.Errorf("line %d: %q is not IP:PORT", n.Line, long.Address)
	}
	*h = Host{Address: a, Users: long.Users, Policies: long.Policies}
	return nil
}

func (u *Upstream) check() (errs []error) {
	for name, h := range u.Hosts {
		if _, err := egress.ParseAuthority(name, httpsPort); err != nil {
			errs = append(errs, fmt.Errorf("upstream.hosts: %w", err))
		}
		if guard.MetadataAddr(h.Address.Addr()) {
			errs = append(errs, fmt.Errorf("upstream.hosts: %q is at %s, a metadata service, to which no jail is ever led", name, h.Address))
		}
	}
	for _, k := range []struct{ key, value string }{{"proxy", u.Proxy}, {"dns", u.DNS}} {
		if a, err := netip.ParseAddrPort(k.value); k.value != "" && (err != nil || a.Port() == 0) {
			errs = append(errs, fmt.Errorf("upstream.%s: %q is not IP:PORT", k.key, k.value))
		}
	}
	if u.ProxyLogin != "" && (u.Proxy == "" || !strings.HasPrefix(u.ProxyLogin, "/")) {
		errs = append(errs, fmt.Errorf("upstream.proxy_login: %q must be an absolute path, beside upstream.proxy", u.ProxyLogin))
	}
	for _, f := range u.CAFiles {
		if !strings.HasPrefix(f, "/") {
			errs = append(errs, fmt.Errorf("upstream.ca_files: %q must be an absolute path", f))
		}
	}
	return errs
}

func (e *Egress) check() (errs []error) {
	for i, p := range e.Private {
		if _, err := egress.ParseRule("GET " + p.Host); p.Host == "" || err != nil {
			errs = append(errs, fmt.Errorf("egress.private[%d].host: %q is neither a name nor *.name: write the names that may be private", i, p.Host))
		}
		if !p.CIDR.IsValid() {
			errs = append(errs, fmt.Errorf("egress.private[%d].cidr: is missing", i))
		}
	}
	return errs
}

// httpsPort is the port of an entry whose name has none.
const httpsPort = 443

// For returns the entries that hold for a caller and a policy, by NAME:PORT.
func (u *Upstream) For(uid uint32, user, policy string) map[string]netip.AddrPort {
	out := map[string]netip.AddrPort{}
	for name, h := range u.Hosts {
		users := len(h.Users) == 0 || slices.Contains(h.Users, user) || slices.Contains(h.Users, fmt.Sprint(uid))
		if users && (len(h.Policies) == 0 || slices.Contains(h.Policies, policy)) {
			if a, err := egress.ParseAuthority(name, httpsPort); err == nil {
				out[a.String()] = h.Address
			}
		}
	}
	return out
}

// Egress is what the operator says about private addresses.
type Egress struct {
	// Private lets names reach private networks without a word in a policy.
	Private []Private `yaml:"private"`
}

// Private exempts an address range for the names that match a pattern.
type Private struct {
	Host string       `yaml:"host"` // a name, or *.NAME for all below it
	CIDR netip.Prefix `yaml:"cidr"` // the network that such names may lead to
}
