package landlock

import (
	"fmt"
	"slices"

	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/node"
	"github.com/omnijail/omnijail/internal/reaper"
	"github.com/omnijail/omnijail/internal/seccomp"
	"github.com/omnijail/omnijail/runtime/oci"
)

// Name is the policy's word for this backend.
const Name = node.Alone

// Args returns what omnijail-init reap is told about spec, without descriptors.
// It holds no value of the caller's. The error is a *jail.UnsupportedError for a
// line of the spec that cannot be enforced without bubblewrap.
func Args(spec *jail.Spec, st jail.Staged) (reaper.Order, error) {
	if err := oci.Check(Name, spec); err != nil {
		return reaper.Order{}, err
	}
	o := reaper.Order{ReadOnly: spec.OCI.Linux.ReadonlyPaths}
	for _, w := range spec.Weaken {
		if need := node.Refuses(Name, w); need != "" {
			return o, &jail.UnsupportedError{Backend: Name, Feature: "weaken: [" + string(w) + "]", Need: need, Fix: "backend: " + node.Bubblewrap}
		}
	}
	var err error
	if o.Filter, err = seccomp.Of(spec.Weaken, spec.Observe); err != nil {
		return o, err
	}
	for _, m := range st.Mounts {
		switch {
		case m.Dest == "/" && o.Root == "":
			o.Root = m.Source
		case jail.Within("/proc", m.Dest) && m.ReadOnly:
			o.Covers = append(o.Covers, reaper.Cover{Source: m.Source, Dest: m.Dest})
		default:
			return o, fmt.Errorf("internal error: staged mount at %s is neither the root nor a cover in /proc", m.Dest)
		}
	}
	if o.Root == "" || slices.Contains(o.ReadOnly, "/proc") {
		return o, fmt.Errorf("internal error: nothing was staged")
	}
	return o, nil
}
