package jail

import (
	"fmt"
	"slices"
)

// Weakening is anything in a policy that gives safety away. The list is closed.
type Weakening string

// The weakenings.
const (
	WeakPtrace              Weakening = "ptrace"
	WeakNestedSandbox       Weakening = "nested_sandbox"
	WeakCompatABI           Weakening = "compat_abi"
	WeakGitConfig           Weakening = "git_config"
	WeakOpenNetwork         Weakening = "open_network"
	WeakPrivateDestinations Weakening = "private_destinations"
	WeakPassthrough         Weakening = "passthrough"
	WeakTrustd              Weakening = "trustd"
	WeakNoIsolation         Weakening = "no_isolation"
	WeakControlSockets      Weakening = "control_sockets"
	WeakHardlinks           Weakening = "hardlinks"
	WeakUnixSockets         Weakening = "unix_sockets"
	WeakPersistence         Weakening = "persistence"
)

// Weakenings lists all weakenings.
var Weakenings = []Weakening{
	WeakPtrace, WeakNestedSandbox, WeakCompatABI, WeakGitConfig, WeakOpenNetwork,
	WeakPrivateDestinations, WeakPassthrough, WeakTrustd, WeakNoIsolation,
	WeakControlSockets, WeakHardlinks, WeakUnixSockets, WeakPersistence,
}

// ParseWeakening returns the weakening called s.
func ParseWeakening(s string) (Weakening, error) {
	if w := Weakening(s); slices.Contains(Weakenings, w) {
		return w, nil
	}
	return "", fmt.Errorf("unknown weakening %q (known: %v)", s, Weakenings)
}
