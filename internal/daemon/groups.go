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

func noController(err error) bool { return errors.Is(err, cgroup.ErrNoController) }
