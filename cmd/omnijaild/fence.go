package main

import (
	"errors"

	"github.com/omnijail/omnijail/internal/cgroup"
	"github.com/omnijail/omnijail/internal/fence"
)

// newFence makes the fence around egress processes, tried around nothing first. An
// error says why this node can have none; where it can, no egress process starts
// outside of it.
func newFence(cgroups *cgroup.Instance) (f *fence.Fence, err error) {
	group, err := cgroups.New("fence-probe")
	if err != nil {
		return nil, err
	}
	defer group.Remove()
	if group.Dir() == nil {
		return nil, errors.New("no cgroup v2 is mounted")
	}
	if f, err = fence.New(nil); err != nil {
		return nil, err
	}
	wall, err := f.Enclose(group.Dir())
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, wall.Close()
}
