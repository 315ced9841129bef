package jail

import (
	"fmt"
	"slices"
)

// Guarantee is a promise that a backend keeps on a node and a policy may need.
// doctor, selftest, the audit and box creation speak these words.
type Guarantee string

// The seven guarantees.
const (
	Files            Guarantee = "files"              // only the granted part of the file system is visible
	NoPrivilege      Guarantee = "no_privilege"       // the caller's uid, no capability, no way to gain one
	Syscalls         Guarantee = "syscalls"           // the reviewed system calls only
	NetworkOnlyProxy Guarantee = "network_only_proxy" // the proxy is the only way out
	LimitsHeld       Guarantee = "limits"             // time, memory, process and processor limits are enforced
	NoTrace          Guarantee = "no_trace"           // nothing stays on the node afterwards
	Observed         Guarantee = "observed"           // each refusal we decide is recorded
)

// Guarantees lists all guarantees in the order in which they are printed.
var Guarantees = []Guarantee{Files, NoPrivilege, Syscalls, NetworkOnlyProxy, LimitsHeld, NoTrace, Observed}

// ParseGuarantee returns the guarantee called s.
func ParseGuarantee(s string) (Guarantee, error) {
	if g := Guarantee(s); slices.Contains(Guarantees, g) {
		return g, nil
	}
	return "", fmt.Errorf("unknown guarantee %q (known: %v)", s, Guarantees)
}

// UnsupportedError says that a backend cannot enforce a feature on this node.
// It is never turned into a warning: a jail that cannot keep a line of its
// policy does not start.
type UnsupportedError struct {
	Backend string // "linux_bwrap"
	Feature string // what was asked, in the user's words
	Need    string // what the node lacks
	Fix     string // what to type, if anything helps
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s cannot enforce %s here: it needs %s", e.Backend, e.Feature, e.Need)
}
