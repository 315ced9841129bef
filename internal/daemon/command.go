package daemon

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/spawn"
)

// maxCommands bounds the commands of one jail at a time: each has a connection, a
// cgroup and descriptors of this process.
const maxCommands = 256

// Visit is one more command's place in a session jail. It must be left.
type Visit struct {
	m    *Manager
	j    *liveJail
	name string // of its cgroup
}

// Enter gives a command its place in jail id, or refuses it. The plan is the one
// that made the jail; what the command has of its own is filled in by Run's caller.
func (v View) Enter(id jail.ID) (*Visit, *api.Error) {
	j := v.find(id)
	if j == nil {
		return nil, api.NotFound()
	}
	if !j.session {
		return nil, api.Refuse(http.StatusConflict, "not_a_session", "jail %s runs one command and takes no other", id).
			Hint("omnijailctl create makes a jail for several")
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.over || j.ctx.Err() != nil:
		return nil, api.NotFound()
	case !j.made:
		return nil, api.Refuse(http.StatusConflict, "not_made", "jail %s is being made", id).Hint("when omnijailctl create has printed its name")
	case len(j.commands) >= maxCommands:
		return nil, api.Refuse(http.StatusTooManyRequests, "too_many_commands", "jail %s runs %d commands, which is the limit", id, maxCommands)
	}
	j.joined++
	j.inside.Add(1)
	return &Visit{m: v.m, j: j, name: fmt.Sprintf("exec-%d", j.joined)}, nil
}

// Made is the plan that made the jail.
func (v *Visit) Made() *Plan { return v.j.plan() }

// Leave gives the place back.
func (v *Visit) Leave() { v.j.inside.Done() }

// Run runs the command of p to its end on the client's connection, which has just
// been upgraded. Nothing of the command's processes is left when it returns.
func (v *Visit) Run(p *Plan, conn *net.UnixConn) {
	defer v.m.restock()()
	x := v.m.newExecution(v.j, p, conn)
	ctx, cancel := context.WithCancelCause(v.j.ctx)
	defer cancel(nil)
	x.end = func(reason string) { cancel(errEnded{reason}) }
	defer v.m.undo(nil, x) // after a panic too
	exit := x.join(ctx, cancel, v.name)
	v.m.undo(nil, x)
	x.record(exit)
	v.j.audience.leave(x.events)
	x.events.finish(exit)
}

// join is the life of a command in a jail that is there already.
func (x *execution) join(ctx context.Context, cancel context.CancelCauseFunc, name string) api.Exit {
	err := x.enter(ctx, name)
	if err != nil {
		return x.failure(ctx, err)
	}
	go x.control(cancel)
	return x.wait(ctx)
}

func (x *execution) enter(ctx context.Context, name string) error {
	if text := x.j.degraded(); text != "" {
		x.events.note(text, degradedHint)
	}
	group, err := x.j.env.group.Child(name)
	if err != nil {
		return err
	}
	x.group, x.brake.group, x.before = group, group, x.j.env.group.Usage()
	x.undo.Add(func() error { return x.m.removeGroup(group) })
	if err := x.files(ctx); err != nil {
		return err
	}
	x.j.arming.RLock()
	defer x.j.arming.RUnlock()
	return x.start(ctx)
}

// degraded says why the jail has no network any more, or nothing.
func (j *liveJail) degraded() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.cutText
}

// close lets no further command in.
func (j *liveJail) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.over = true
}

// runs notes that a command runs, or does not any more.
func (j *liveJail) runs(x *execution, now bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if now {
		j.commands[x] = true
	} else {
		delete(j.commands, x)
	}
}

const killed = "ended by omnijailctl kill"

// Signal sends sig to every command of a jail. SIGKILL ends each with all that it
// started; a jail of one command ends with it.
func (v View) Signal(id jail.ID, sig unix.Signal) *api.Error {
	j := v.find(id)
	if j == nil {
		return api.NotFound()
	}
	if sig == unix.SIGKILL && !j.session {
		j.end(killed)
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for x := range j.commands {
		if sig == unix.SIGKILL {
			x.end(killed)
		} else {
			spawn.Signal(x.command, sig)
		}
	}
	return nil
}
