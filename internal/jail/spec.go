package jail

import (
	"net/netip"
	"slices"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/egress"
)

// Spec is one jail, inert and complete: the same policy, request and node facts
// give the same Spec. It never holds a secret. Only policy.Compile makes one;
// nothing changes it afterwards.
type Spec struct {
	Policy       PolicyRef
	Backends     []string // acceptable backends, in order of preference
	Passed       string   // why a backend that was preferred to the first is not among them
	Weaken       []Weakening
	Needs        []Guarantee
	OCI          *specs.Spec // process, namespaces, limits, mounts with root-owned sources only
	View         View
	Warnings     []string       // lines that give more than a task needs, each with its place
	Rules        []egress.Rule  // nil means no network
	Denied       []netip.Prefix // deny_addresses: never dialled, whatever rules say
	Bindings     []creds.Binding
	Env          EnvPlan
	Limits       Limits
	Cache        Cache
	ProxyEnv     bool   // clients are told of a proxy, on loopback
	OnMisuse     string // "deny" or "freeze"
	OnReflection string // "mask", "abort" or "freeze"
	OnMinted     string // "pass", "capture", "mask" or "abort"
	Detect       bool   // protect_new: detect
	Restage      bool   // on_replaced: restage
	BodyCheck    bool   // placeholder_in_body: deny
	Observe      bool   // refused files, system calls and packets are reported
	// Of a jail that takes several commands.
	MaxAge time.Duration // it ends then
	Closed []string      // what a request may set; nil for anything
	// Ports of TCP on loopback, each the same number on both sides.
	Publish   []uint16 // the jail's, on the node
	NodePorts []uint16 // the node's, in the jail
}

// Bare reports whether the command runs without isolation.
func (s *Spec) Bare() bool { return slices.Contains(s.Weaken, WeakNoIsolation) }

// Cache says which of the caller's caches the jail has in its home. What is written
// for one policy or workspace is never seen for another.
type Cache struct {
	Workspace string // empty for no cache
	Policy    string // digest of the policy with what the request added
}

// PolicyRef says which policy decides, for messages, audit and revocation.
type PolicyRef struct {
	Name     string // "default", "github-read", or the file's path
	Origin   string // where it came from: a path, "preset", "inline"
	OwnerUID uint32 // 0 for root-owned policies and presets
	Fallback bool   // no policy was given and none was found
	Own      bool   // a document of the caller's, whatever it calls itself
	Digest   string // hex SHA-256 of the flattened document
}

// EnvPlan says how the command's environment is built.
type EnvPlan struct {
	Passthrough []string          // names taken from the client's context
	Set         map[string]string // from the policy's env and the request's --env
}
