package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/omnijail/omnijail/internal/cgroup"
)

// Bounds of a scout and of the commands it runs, where the node can hold them.
const (
	scoutMemory = 1 << 30
	scoutPids   = 256
)

// groupTimeout bounds the wait for killed processes to be gone. One that is stuck
// in the kernel keeps its cgroup until the next sweep.
const groupTimeout = 5 * time.Second

// removeGroup kills whatever is in g and removes it.
func (m *Manager) removeGroup(g *cgroup.Group) error {
	ctx, cancel := context.WithTimeout(context.Background(), groupTimeout)
	defer cancel()
	if err := g.Kill(); err != nil {
		return err
	}
	if err := g.WaitEmpty(ctx); err != nil {
		return err
	}
	return g.Remove()
}

// later returns what takes something apart beside whatever comes next. It is for what
// has said and done all that it had to: a process that has watched files takes the
// kernel many milliseconds to end.
func (m *Manager) later(apart func() error) func() error {
	return func() error {
		m.leaving.Go(func() {
			if err := apart(); err != nil {
				m.cfg.Log.Error("not all was undone", "err", err)
			}
		})
		return nil
	}
}

// scoutGroup makes the cgroup of a scout that opens files. Its filter refuses it
// any process and its memory has an rlimit, so that the cgroup's limits are one
// more wall where they cost nothing; elsewhere they would take longer to set than
// all its work.
func (m *Manager) scoutGroup(name string) (*cgroup.Group, error) {
	var l cgroup.Limits
	if m.cfg.Cgroups.InPlace("memory") {
		l.Memory = scoutMemory
	}
	if m.cfg.Cgroups.InPlace("pids") {
		l.Pids = scoutPids
	}
	return m.limitedGroup(name, l)
}

// sourceGroup makes the cgroup of a scout that runs the commands of a credential's
// source, which are the caller's.
func (m *Manager) sourceGroup(name string) (*cgroup.Group, error) {
	return m.limitedGroup(name, cgroup.Limits{Memory: scoutMemory, Pids: scoutPids})
}

func (m *Manager) limitedGroup(name string, l cgroup.Limits) (*cgroup.Group, error) {
	g, err := m.cfg.Cgroups.New(name)
	if err != nil {
		return nil, err
	}
	if err := g.SetLimits(l); err != nil && !noController(err) {
		m.removeGroup(g)
		return nil, err
	}
	return g, nil
}

func noController(err error) bool { return errors.Is(err, cgroup.ErrNoController) }
