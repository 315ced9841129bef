package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/policy"
	"github.com/omnijail/omnijail/internal/spawn"
	"github.com/omnijail/omnijail/internal/stage"
)

// Create makes a jail that takes commands until it is ended. On conn, which has
// just been upgraded and may be nil, the client sends secrets and is told how it
// went; the last event is an exit of 0 or of a failure. The jail keeps the ticket
// unless Create fails.
func (m *Manager) Create(t *Ticket, conn *net.UnixConn) (api.Jail, api.Exit) {
	j, cancel := m.newJail(jail.NewID(), t.plan)
	j.session = true
	x := &execution{m: m, plan: t.plan, j: j, conn: conn, began: time.Now()}
	if conn != nil {
		x.events = newEvents(conn)
		j.audience.join(x.events)
	}
	kept := false
	defer func() {
		if !kept { // after a panic too
			cancel(nil)
			j.inside.Wait()
			m.undo(j, x)
		}
	}()
	exit := x.settle()
	if exit.Code == 0 && len(t.plan.Argv) > 0 {
		_, exit = m.detach(j, t.plan, firstDetached)
	}
	if exit.Code == 0 {
		exit = j.whole()
	}
	made := j.describe()
	j.audience.leave(x.events)
	if kept = exit.Code == 0; kept {
		j.finished()
		go m.keep(j, t)
	} else {
		cancel(nil)
		j.inside.Wait() // for its own command, if that runs already
		m.undo(j, x)
	}
	if conn != nil {
		if exit.Code == 0 {
			x.events.send(api.Event{Started: x.started()})
		}
		x.events.finish(exit)
		if exit.Code == 0 && !x.events.heard() {
			j.end("its client left before it was told of the jail")
		}
	}
	return made, exit
}

// whole is the failure of a jail that has lost its network while it was made. Later
// it would be kept for what else is in it.
func (j *liveJail) whole() api.Exit {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.cutBy == "" {
		return api.Exit{}
	}
	return api.Exit{Code: exitFailed, Reason: j.cutText}
}

// finished lets commands in.
func (j *liveJail) finished() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.made = true
}

// settle makes the jail without a command in it.
func (x *execution) settle() api.Exit {
	j := x.j
	x.register()
	if j.ctx.Err() != nil { // ended while it was coming
		return x.failure(j.ctx, context.Cause(j.ctx))
	}
	err := x.open(j.ctx)
	if err == nil {
		err = x.share()
	}
	x.m.refill()
	if err == nil {
		_, err = x.m.auditor.own(audit.Record{
			Kind: audit.KindJail, Jail: j.id.String(), UID: j.owner, Policy: j.spec().Policy.Name,
			Decision: audit.Allow, Reason: "session", Origin: j.spec().Policy.Origin,
		})
	}
	if err != nil {
		return x.failure(j.ctx, err)
	}
	x.releaseOpened()
	for i, f := range x.opened.Grants { // for sources that are asked again
		if f != nil {
			j.env.undo.Add(f.Close)
			x.opened.Grants[i] = nil
		}
	}
	if err := x.undo.Run(); err != nil {
		x.m.cfg.Log.Error("jail: not all was undone", "jail", j.id, "err", err)
	}
	j.env.group.CloseDir() // commands have groups of their own
	return api.Exit{}
}

// share makes the file systems that the commands have in common.
func (x *execution) share() error {
	spec := x.j.spec()
	home := policy.ScratchHome(x.plan.User)
	files, err := stage.Keep(stage.Layout{
		User: x.plan.User, Home: home, Scratch: tmpfsSize(spec.OCI.Mounts, home),
		Tmp: tmpfsSize(spec.OCI.Mounts, "/tmp"), Shm: tmpfsSize(spec.OCI.Mounts, "/dev/shm"),
	})
	if err != nil {
		return err
	}
	ns, err := spawn.Keep(func() error { return files.Settle(x.m.cfg.StageDir) })
	if err != nil {
		return err
	}
	x.j.env.undo.Add(ns.Close)
	x.j.env.kept = &shared{files, ns}
	return nil
}

// shared are the file systems that the commands of a session have in common, and
// the mount namespace that keeps them.
type shared struct {
	files *stage.Kept
	ns    *os.File
}

// keep waits for a session's end and undoes it.
func (m *Manager) keep(j *liveJail, t *Ticket) {
	defer t.Release()
	age := time.AfterFunc(j.spec().MaxAge, func() {
		j.end(fmt.Sprintf("the jail's max_age of %v has passed", j.spec().MaxAge))
	})
	<-j.ctx.Done()
	age.Stop()
	j.close()
	j.inside.Wait() // the commands end with the jail's context
	m.undo(j, nil)
	_, err := m.auditor.own(audit.Record{
		Kind: audit.KindJail, Jail: j.id.String(), UID: j.owner, Policy: j.spec().Policy.Name,
		Reason: audit.Escape(endReason(j.ctx)), Millis: uint32(min(time.Since(j.started).Milliseconds(), 1<<32-1)),
	})
	if err != nil {
		m.cfg.Log.Error("audit: end of jail not recorded", "err", err)
	}
}

// undo takes a command apart, and then a jail; either may be nil. What was undone
// stays so when it is called again.
func (m *Manager) undo(j *liveJail, x *execution) {
	var of, in error
	if x != nil {
		of = x.undo.Run()
	}
	if j != nil {
		in = j.env.undo.Run()
	}
	if err := errors.Join(of, in); err != nil {
		m.cfg.Log.Error("jail: not all was undone", "err", err)
	}
}
