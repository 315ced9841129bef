package daemon

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/omnijail/omnijail/internal/cgroup"
	"github.com/omnijail/omnijail/internal/config"
	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/internal/fence"
	"github.com/omnijail/omnijail/netns"
)

// resolverPeriod is how often the node's resolvers are looked up while an egress
// process lives, which looks them up as often itself.
const resolverPeriod = 5 * time.Second

const resolvConf = "/etc/resolv.conf"

// enclose builds the kernel's wall around an egress process that is to be started
// in group. On a node without a fence it returns nil; where there is one, no
// process starts outside of it.
func (m *Manager) enclose(group *cgroup.Group) (*fence.Wall, error) {
	if m.cfg.Fence == nil {
		return nil, nil
	}
	if err := m.cfg.Fence.Refresh(resolvers(m.cfg.Settings())); err != nil {
		return nil, err
	}
	return m.cfg.Fence.Enclose(group.Dir())
}

// resolvers are those that an egress process asks.
func resolvers(set *config.Config) []netip.AddrPort {
	if a, err := netip.ParseAddrPort(set.Upstream.DNS); err == nil {
		return []netip.AddrPort{a}
	}
	return fence.Resolvers(resolvConf)
}

// openings are what a jail with spec needs of its egress process's wall.
func openings(set *config.Config, spec wire.Spec) fence.Exceptions {
	e := fence.Exceptions{Pins: slices.Collect(maps.Values(spec.Hosts)), All: spec.AllowPrivate}
	if a, err := netip.ParseAddrPort(set.Upstream.Proxy); err == nil {
		e.Pins = append(e.Pins, a)
	}
	for _, p := range set.Egress.Private {
		e.Private = append(e.Private, p.CIDR)
	}
	for _, r := range spec.Rules {
		e.Private = append(e.Private, r.AllowPrivate...)
	}
	return e
}

// tend keeps the fence true to the node's addresses and resolvers until done is
// closed. An address that came up counts at once.
func (m *Manager) tend(done <-chan struct{}) error {
	changes, err := netns.AddressChanges(done)
	if err != nil {
		return err
	}
	go func() {
		tick := time.NewTicker(resolverPeriod)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case _, ok := <-changes:
				if !ok {
					changes = nil // it ended early; the ticker goes on
				}
			case <-tick.C:
			}
			m.refreshFence()
		}
	}()
	return nil
}

// refreshFence ends all egress processes when the fence cannot be kept true: what
// is closed too late is open.
func (m *Manager) refreshFence() {
	m.mu.Lock()
	procs := slices.Collect(maps.Keys(m.alive))
	m.mu.Unlock()
	if len(procs) == 0 {
		return
	}
	if err := m.cfg.Fence.Refresh(resolvers(m.cfg.Settings())); err != nil {
		m.cfg.Log.Error("the fence around egress processes cannot be kept true, so they end", "err", err)
		for _, p := range procs {
			p.end(err)
		}
	}
}
