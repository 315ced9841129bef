package daemon

import (
	"context"

	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/spawn"
)

// notIsolated is what everybody is told of a command that runs without a jail.
const notIsolated = "not isolated: backend none holds limits and nothing else"

// startBare starts a command that is not isolated: nothing is staged, and it stays
// in the node's namespaces.
func (x *execution) startBare(ctx context.Context, backend jail.Backend) error {
	st := &staging{turn: func() {}}
	if err := x.terminal(st); err != nil {
		return err
	}
	channel, theirs, err := spawn.NewChannel()
	if err != nil {
		return err
	}
	defer channel.Close()
	cmd, err := backend.Command(x.plan.Spec, jail.Staged{Init: x.m.cfg.Init, Chan: theirs, TTY: x.plan.TTY != nil})
	if err != nil {
		theirs.Close()
		return err
	}
	x.process, err = x.m.cfg.Spawner.Start(cmd, spawn.Options{Cgroup: x.group.Dir(), Enter: x.group.Enter})
	if err != nil {
		return err
	}
	x.undo.Add(x.process.Close)
	return x.letGo(ctx, channel, backend, st.places)
}

// ended waits for the command and returns its exit code, 128 and the number for
// one that a signal ended. Where nobody is between the daemon and the command it
// is the daemon that reaps it, and says so by closing direct.
func (x *execution) ended() (int, error) {
	if !x.plan.Spec.Bare() {
		return spawn.ReadExit(x.status)
	}
	defer close(x.direct)
	status, err := x.process.Wait(context.Background())
	switch {
	case err != nil:
		return 0, err
	case status.Signaled():
		return 128 + int(status.Signal()), nil
	}
	return status.ExitStatus(), nil
}
