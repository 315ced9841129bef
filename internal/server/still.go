package server

import (
	"fmt"
	"slices"

	"github.com/omnijail/omnijail/internal/config"
	"github.com/omnijail/omnijail/internal/daemon"
	"github.com/omnijail/omnijail/internal/policy"
)

// Still judges live jails by a configuration that has just come into force: it
// returns why one may not go on, or nothing. A root-owned policy is read again;
// a user's own never is.
func Still(set *config.Config, n config.Names) func(daemon.Holding) string {
	lib := policy.Library{Root: set.PolicyDir, Owned: config.RootOwned}
	return func(h daemon.Holding) string {
		name, own := h.Spec.Policy.Name, h.Spec.Policy.Own
		groups := append([]uint32{h.Caller.GID()}, h.Caller.Groups()...)
		access := config.Decide(set.Access, config.Subject{UID: h.Caller.UID(), Groups: groups, Confined: h.Confined}, n)
		if access == nil || !access.MayUse(name, own) {
			return fmt.Sprintf("ended: access to policy %q was withdrawn", name)
		}
		for _, w := range h.Spec.Weaken {
			if !slices.Contains(access.Weaken, string(w)) {
				return fmt.Sprintf("ended: access to the weakening %q was withdrawn", w)
			}
		}
		for _, kind := range policy.SourceKinds(h.Spec) {
			if !slices.Contains(access.Sources, string(kind)) {
				return fmt.Sprintf("ended: access to %q sources was withdrawn", kind)
			}
		}
		if len(h.Spec.Publish) > 0 && !access.Publish {
			return "ended: access to published ports was withdrawn"
		}
		for _, p := range h.Spec.NodePorts {
			if !access.MayReach(p) {
				return fmt.Sprintf("ended: access to port %d of the node was withdrawn", p)
			}
		}
		if reason := narrowed(h, set); reason != "" || own {
			return reason
		}
		doc, err := lib.Load(name)
		if err != nil || doc.Ref.Digest != h.Spec.Policy.Digest {
			return fmt.Sprintf("ended: policy %q has changed", name)
		}
		return ""
	}
}
