package policy

import (
	"net/netip"
	"slices"
	"time"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/jail"
)

// Document is a policy as it was written, decoded and checked line by line. What
// depends on the request or the node is checked by Compile.
type Document struct {
	Ref    jail.PolicyRef
	Closed bool     // from the operator's directory: a request sets only what Caller lists
	Files  []string // the user's own files it was read from; pinned in the jail
	Notes  []string // what a reader should know: mapped spellings, changed meanings

	Description  string
	Extends      []Item
	Caller       []string // nil is DefaultCaller
	Backend      []string // nil is the platform's default
	Weaken       []Item
	Read         []Item
	Write        []Item
	Mask         []Item
	Sockets      []Item
	AllowHidden  []Item // added to the dot entries that stay visible
	HiddenMax    int    // 0 is the default
	Protect      []Item
	ScanMax      int // of protect_scan; 0 is the default
	ScanDepth    int // likewise
	Groups       []Item
	Env          map[string]string
	Passthrough  []Item
	Rules        []Rule
	Credentials  []Credential
	OnMisuse     string         // "deny" or "freeze"; empty is deny
	OnReflection string         // "mask", "abort" or "freeze"; empty is mask
	OnMinted     string         // "pass", "capture", "mask" or "abort"; empty is pass
	ProtectNew   Item           // "quarantine" or "detect"; empty is quarantine
	OnReplaced   Item           // "kill" or "restage"; empty is kill
	BodyCheck    bool           // placeholder_in_body: deny
	Denied       []netip.Prefix // deny_addresses
	Limits       jail.Limits
	SwapAt       Pos           // of limits.swap
	Observe      bool          // refused files, system calls and packets are reported
	ProxyEnv     bool          // clients are told of a proxy, on loopback
	MaxAge       time.Duration // 0 is DefaultMaxAge
	Publish      []uint16
	NodePorts    []uint16
	Cache        string // "private" or "none"; empty is private where the working directory is writable

	tree *node // the merged document, for what a request adds
}

// Item is a word of a list and the line it stands on.
type Item struct {
	Text string
	At   Pos
}

// Rule is an egress rule and the line it stands on.
type Rule struct {
	egress.Rule
	At Pos
}

// Credential is a binding and the line it stands on.
type Credential struct {
	creds.Binding
	At Pos
}

// DefaultCaller is what a request may set on a closed policy that does not say.
var DefaultCaller = []string{"cwd", "tty", "timeout"}

// callerKeys is what a closed policy may let a request set.
var callerKeys = []string{
	"cwd", "tty", "timeout", "env", "preset", "write", "read", "allow",
	"limits", "backend", "publish", "node_port",
}

// EnvSources returns the names of the variables that the credentials may take
// their values from: what a client may send as secret descriptors.
func (d *Document) EnvSources() []string {
	var names []string
	for _, c := range d.Credentials {
		for _, s := range c.Sources {
			if s.Kind == creds.SourceEnv {
				names = appendNew(names, s.Env)
			}
		}
	}
	return names
}

// appendNew appends those values that the list does not hold.
func appendNew[T comparable](list []T, vs ...T) []T {
	for _, v := range vs {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}
