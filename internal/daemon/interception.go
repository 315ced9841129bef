package daemon

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/netns"
)

// alwaysTaken are the ports that are taken in every jail where each port needs a
// listener: of ssh, whose clients are told what to do instead, of DNS, and of https.
var alwaysTaken = []uint16{22, 53, 443}

// opening is which sockets a jail needs besides those that every one has.
func opening(way netns.Interception, spec *jail.Spec) (netns.Opening, error) {
	o := netns.Opening{Proxy: spec.ProxyEnv, Packets: spec.Observe}
	if way == netns.Steered {
		return o, nil
	}
	o.Proxy = true // what has no listener of its own can be reached by it
	o.Ports = slices.Clone(alwaysTaken)
	for _, r := range spec.Rules {
		switch {
		case r.Deny:
			continue
		case r.Port == 0:
			return o, anyPort(spec, r)
		}
		o.Ports = append(o.Ports, r.Port)
		if a, err := netip.ParseAddr(r.Host); err == nil {
			o.Addresses = append(o.Addresses, a)
		}
	}
	slices.Sort(o.Ports)
	o.Ports = slices.Compact(o.Ports)
	if len(o.Ports) > wire.MaxPorts {
		return o, &jail.UnsupportedError{
			Backend: spec.Backends[0], Feature: fmt.Sprintf("rules for %d ports", len(o.Ports)),
			Need: fmt.Sprintf("sk_lookup in the kernel; without it, a jail's rules may name %d ports", wire.MaxPorts), Fix: "name fewer ports",
		}
	}
	return o, ownPorts(spec, o.Ports)
}

// anyPort is the refusal of a rule that would take the connections to each port.
func anyPort(spec *jail.Spec, r egress.Rule) error {
	e := &jail.UnsupportedError{
		Backend: spec.Backends[0], Feature: fmt.Sprintf("the rule %q (%s)", r.String(), r.Origin),
		Need: "sk_lookup in the kernel; without it, each port needs to be named", Fix: "name the ports in the rule; omnijailctl doctor says why the kernel has none",
	}
	if r.Open {
		e.Feature, e.Fix = fmt.Sprintf("weaken: [%s]", jail.WeakOpenNetwork), "name the hosts and ports in egress_rules"
	}
	return e
}

// ownPorts refuses ports between the jail and the node at which the jail has no
// server of its own: published, the proxy's would give the jail's network, and its
// credentials, to everybody on the node.
func ownPorts(spec *jail.Spec, taken []uint16) error {
	for _, p := range slices.Concat(spec.Publish, spec.NodePorts) {
		if p == netns.ProxyPort || slices.Contains(taken, p) {
			return &jail.OpenError{
				Code: "port", Exit: exitFailed, Fix: "another port",
				Reason: fmt.Sprintf("port %d of the jail is the proxy's own: this node's kernel has no sk_lookup, so the ports that rules name are not the jail's", p),
			}
		}
	}
	return nil
}

// moreThan returns a port that next needs and a jail that was opened with o lacks.
func moreThan(o, next netns.Opening) (uint16, bool) {
	for _, p := range next.Ports {
		if !slices.Contains(o.Ports, p) {
			return p, true
		}
	}
	return 0, false
}
