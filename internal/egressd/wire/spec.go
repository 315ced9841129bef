package wire

import (
	"net/netip"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/egress"
)

// MaxRules is the most rules a Spec may hold; a policy's own ceiling is the same.
const MaxRules = 2000

// Config is what an egress process is told once, by Hello.
type Config struct {
	Roots    []byte                    `json:"roots"`              // PEM: the node's roots and upstream.ca_files
	Hosts    map[string]netip.AddrPort `json:"hosts,omitempty"`    // upstream.hosts for every jail of this process, by "name:port"
	Private  []Exemption               `json:"private,omitempty"`  // egress.private
	Resolver netip.AddrPort            `json:"resolver,omitempty"` // upstream.dns; the zero value is the node's own
	Memory   int64                     `json:"memory,omitempty"`   // bytes that the process may use; 0 for no limit
	Proxy    netip.AddrPort            `json:"proxy,omitempty"`    // upstream.proxy; the zero value is none
}

// Exemption lets one host pattern have an address inside Prefix although it is
// private.
type Exemption struct {
	Host   string       `json:"host"`
	Prefix netip.Prefix `json:"prefix"`
}

// Spec is what an egress process must know of one jail. It holds no secret.
type Spec struct {
	Rules        []egress.Rule             `json:"rules,omitempty"`
	Bindings     []creds.Binding           `json:"bindings,omitempty"`
	Keys         []string                  `json:"keys,omitempty"`    // one per binding: names its value in the cache; empty: never kept
	Numbers      []uint16                  `json:"numbers,omitempty"` // one per binding: see Number; none: in their order
	Hosts        map[string]netip.AddrPort `json:"hosts,omitempty"`   // upstream.hosts of this policy alone, by "name:port"
	AllowPrivate bool                      `json:"allow_private,omitempty"`
	Denied       []netip.Prefix            `json:"denied,omitempty"`        // deny_addresses
	GitHosts     []string                  `json:"git_hosts,omitempty"`     // hosts whose git@ remotes the jail rewrites to https
	BodyDeny     bool                      `json:"body_deny,omitempty"`     // placeholder_in_body: deny
	Freeze       bool                      `json:"freeze,omitempty"`        // on_misuse: freeze
	OnReflection string                    `json:"on_reflection,omitempty"` // "mask", "abort" or "freeze"; empty is mask
	OnMinted     string                    `json:"on_minted,omitempty"`     // "pass", "capture", "mask" or "abort"; empty is pass
}

// MaxNumbers is how many values a jail can have had in its life.
const MaxNumbers = 4096

// Number is the number of binding i's value, by which Secret, Outcome and Refresh
// name it. A binding that stays with its sources keeps its number in the Spec of a
// Replace; every other has one that the jail has not had before.
func (s Spec) Number(i int) uint16 {
	if len(s.Numbers) > 0 {
		return s.Numbers[i]
	}
	return uint16(i)
}
