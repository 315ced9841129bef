package daemon

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// adopt makes a jail that was ready x's: its cgroup and network belong to the jail
// from now on, the rest to the command.
func (x *execution) adopt(r *readyJail) {
	m := x.m
	r.undo.Release()
	x.ready = r
	x.process, x.status, x.command, x.space = r.process, r.status, r.init, r.space
	env := &x.j.env
	env.group, env.net = r.group, r.net
	env.undo.Add(func() error { return m.removeGroup(r.group) })
	env.undo.Add(r.net.Close)
	x.undo.Add(r.around.Close)
	x.undo.Add(r.pts.Close)
	x.undo.Add(r.space.Close)
	x.undo.Add(r.status.Close)
	x.undo.Add(r.process.Close)
	x.undo.Add(r.init.Close)
	x.undo.Add(r.channel.Close)
	x.undo.Add(x.decline)
}

// decline puts a jail that was ready and has got no command down, but for its
// cgroup and its network.
func (x *execution) decline() error {
	if x.ready == nil {
		return nil
	}
	r := x.ready
	x.space.Close()
	x.ready, x.process, x.status, x.command = nil, nil, nil, nil
	return x.m.putDown(r.group, r.process)
}

// startReady gives the jail that waits its files, and its command. False means that
// it is another than the plan wants, and that none waits any more.
func (x *execution) startReady(ctx context.Context, staged *staging, backend jail.Backend) (started bool, err error) {
	r := x.ready
	if r == nil {
		return false, nil
	}
	err = unix.ESRCH
	if staged.plan.Fits(r.made) {
		enter := func(do func() error) error { return x.m.cfg.Spawner.Visit(r.init, do) }
		err = staged.plan.Attach(r.made, enter, staged.files, staged.grants)
	}
	if errors.Is(err, unix.ESRCH) { // it has died meanwhile, or is of no use
		return false, errors.Join(x.decline(), x.terminal(staged))
	}
	if err != nil {
		return false, err
	}
	x.ready = nil // it has a command now, or ends
	x.protections = staged.plan.Protections(staged.files.Names)
	staged.release()
	return true, x.letGo(ctx, r.channel, backend, staged.places)
}
