package policy

import (
	"slices"

	"github.com/omnijail/omnijail/internal/jail"
)

// maxPorts bounds the ports of one jail in each direction.
const maxPorts = 64

// proxyPort is where a jail with proxy_env has its proxy; package netns opens it.
const proxyPort = 3128

// ports reads a list of port numbers.
func (d *decoder) ports(key string, n *node) (out []uint16) {
	for i, item := range d.items(key, n, true) {
		if p := d.integer(index(key, i), item, 1, 65535); p > 0 {
			out = appendNew(out, uint16(p))
		}
	}
	return out
}

// ports joins what a policy and a request ask for, sorted.
func ports(lists ...[]uint16) []uint16 {
	out := slices.Concat(lists...)
	slices.Sort(out)
	return slices.Compact(out)
}

// checkPorts refuses a jail that would lead a port of the node to itself.
func checkPorts(spec *jail.Spec, rep *report) {
	if len(spec.Publish) > maxPorts || len(spec.NodePorts) > maxPorts {
		rep.errorf(Pos{}, "publish", "more than %d ports", maxPorts)
	}
	if spec.ProxyEnv && (slices.Contains(spec.Publish, proxyPort) || slices.Contains(spec.NodePorts, proxyPort)) {
		rep.errorf(Pos{}, "proxy_env", "port %d of the jail is the proxy's own: published, the node would use the jail's credentials", proxyPort)
	}
	for _, p := range spec.Publish {
		if slices.Contains(spec.NodePorts, p) {
			rep.errorf(Pos{}, "publish", "port %d cannot be both published and a node port", p)
		}
	}
}
