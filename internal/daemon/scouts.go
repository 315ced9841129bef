package daemon

import (
	"errors"
	"fmt"

	"github.com/omnijail/omnijail/internal/caller"
	"github.com/omnijail/omnijail/internal/cgroup"
)

// readyScouts is how many scouts wait to be asked: a start takes one at most.
const readyScouts = 4

// scout is one that waits, in a cgroup of its own. It serves one exec, and its
// cgroup is removed with it: a scout that has been somebody is nobody else's.
type scout struct {
	*caller.Scout
	group *cgroup.Group
	m     *Manager
}

// newScout starts a scout.
func (m *Manager) newScout() (*scout, error) {
	group, err := m.scoutGroup(fmt.Sprintf("scout-%d", m.scoutNo.Add(1)))
	if err != nil {
		m.cfg.Log.Warn("no cgroup for a scout", "err", err)
		return nil, err
	}
	s, err := caller.Start(m.cfg.Init, group)
	if err != nil {
		m.cfg.Log.Warn("no scout started", "err", err)
		return nil, errors.Join(err, m.removeGroup(group))
	}
	return &scout{s, group, m}, nil
}

// takeScout returns a scout that waits, started a while ago or now.
func (m *Manager) takeScout() (*scout, error) {
	if s, ok := m.scouts.take(func(s *scout) bool { return s.Alive() }); ok {
		return s, nil
	}
	return m.newScout()
}

// Close ends the scout with all that it started.
func (s *scout) Close() error {
	return errors.Join(s.Scout.Close(), s.m.removeGroup(s.group))
}
