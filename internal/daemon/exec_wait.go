package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/spawn"
)

const (
	exitTimeout = 124
	exitFailed  = 125
	// maxControl bounds a line of the client's in bytes.
	maxControl = 4096
	// killGrace is what a command has between SIGTERM at its timeout and SIGKILL.
	killGrace = 2 * time.Second
)

// wait waits for the command and returns its exit. Whatever happened, nothing of
// the jail's processes is left when it returns.
func (x *execution) wait(ctx context.Context) api.Exit {
	x.j.runs(x, true)
	defer x.j.runs(x, false)
	type report struct {
		code int
		err  error
	}
	done := make(chan report, 1)
	if x.plan.Spec.Bare() {
		x.direct = make(chan struct{})
	}
	go func() {
		code, err := x.ended()
		done <- report{code, err}
	}()
	var expired <-chan time.Time
	if t := x.plan.Spec.Limits.Timeout; t > 0 {
		timer := time.NewTimer(t)
		defer timer.Stop()
		expired = timer.C
	}
	var exit api.Exit
	select {
	case r := <-done:
		exit = x.exited(r.code, r.err)
	case <-expired:
		exit = x.timedOut(func() { <-done })
	case <-ctx.Done():
		exit = api.Exit{Code: exitFailed, Reason: endReason(ctx)}
		if over := x.filled.Load(); over != nil && over.reason == exit.Reason {
			exit.Limits, exit.Fix = "cache", over.fix
			x.limited(&exit)
		}
		x.m.metrics.execs.WithLabelValues("killed").Inc()
	}
	x.space.Close() // what is in it goes with the namespace, not with us
	x.brake.end()
	x.group.Kill()
	if leave := x.j.env.leave; x.alone && leave != nil {
		go leave() // beside the rest; the jail's end waits for it
	}
	x.reap()
	x.lastLook()
	return exit
}

func (x *execution) exited(code int, err error) api.Exit {
	if err != nil {
		// With cgroup v2 the kernel kills the whole jail for want of memory, who
		// would have reported the exit with it.
		over := api.Exit{Code: 128 + int(unix.SIGKILL), Signal: int(unix.SIGKILL)}
		if x.overLimit(&over); over.Limits == "memory" {
			x.m.metrics.execs.WithLabelValues("exited").Inc()
			return over
		}
		x.m.metrics.execs.WithLabelValues("killed").Inc()
		x.m.cfg.Log.Warn("jail ended without an exit", "jail", x.j.id, "err", err, "complaint", audit.Escape(x.process.Complaint()))
		return api.Exit{Code: exitFailed, Reason: err.Error()}
	}
	x.m.metrics.execs.WithLabelValues("exited").Inc()
	exit := api.Exit{Code: code}
	x.overLimit(&exit)
	if code != 0 && exit.Reason == "" {
		x.guesses()
	}
	if code > 128 && code <= 128+64 {
		exit.Signal = code - 128 // by the shells' convention; the backend reports no more
	}
	return exit
}

// guesses names what of the jail may have been why a command failed. One that
// went well is told nothing of it.
func (x *execution) guesses() {
	p := x.j.policy.Load()
	for _, i := range p.dropped {
		if text, hint := noLogin(p.secrets[i].binding, p.plan.Spec.Policy.Name); text != "" {
			x.events.note(text, hint)
		}
	}
	if len(x.hidden) > 0 {
		x.events.note(hiddenEntries(x.hidden))
	}
	if masked := x.opened.Reply.Masked; len(masked) > 0 {
		x.events.note(maskedEntries(masked))
	}
	if gitConfigClosed(x.opened.Reply.Grants) && writesGitConfig(x.plan.Argv) {
		x.events.note(closedGitConfig())
	}
	if text, hint := unseenRepository(x.opened.Reply, x.plan.Argv); text != "" {
		x.events.note(text, hint)
	}
	if len(x.doors) > 0 {
		x.tell(hiddenDoors(x.doors))
	}
	if x.atHome {
		x.events.note(emptyHome())
	}
}

// timedOut ends a command that ran too long: SIGTERM, a moment, then the end of
// everything.
func (x *execution) timedOut(exited func()) api.Exit {
	x.m.metrics.execs.WithLabelValues("timeout").Inc()
	spawn.Signal(x.command, unix.SIGTERM)
	gone := make(chan struct{})
	go func() {
		exited()
		close(gone)
	}()
	select {
	case <-gone:
	case <-time.After(killGrace):
	}
	limit := x.plan.Spec.Limits.Timeout
	exit := api.Exit{
		Code: exitTimeout, Signal: int(unix.SIGTERM), Limits: "timeout",
		Reason: "stopped: time limit " + limit.String(), Fix: "--timeout " + (2 * limit).String(),
	}
	x.limited(&exit)
	return exit
}

func endReason(ctx context.Context) string {
	var ended errEnded
	if errors.As(context.Cause(ctx), &ended) {
		return ended.reason
	}
	return "the exec was ended"
}

// reap waits for the backend's process, which has ended or is being killed.
func (x *execution) reap() {
	ctx, cancel := context.WithTimeout(context.Background(), groupTimeout)
	defer cancel()
	if x.direct != nil {
		select {
		case <-x.direct:
		case <-ctx.Done():
		}
	} else if _, err := x.process.Wait(ctx); err != nil {
		x.m.cfg.Log.Error("jail: process not reaped", "jail", x.j.id, "err", err)
	}
	if err := x.group.WaitEmpty(ctx); err != nil {
		x.m.cfg.Log.Error("jail: processes left", "jail", x.j.id, "err", err)
	}
}

// control reads the client's lines: signals and sizes for the command. The end
// of the connection ends the exec.
func (x *execution) control(cancel context.CancelCauseFunc) {
	defer cancel(errEnded{"the client closed the connection"})
	lines := bufio.NewScanner(x.conn)
	lines.Buffer(make([]byte, 0, 512), maxControl)
	terms := 0
	for lines.Scan() {
		var c api.Control
		if json.Unmarshal(lines.Bytes(), &c) != nil {
			return
		}
		switch {
		case c.Resize != nil && x.master != nil:
			x.resize(*c.Resize)
		case c.Signal > 0 && c.Signal <= 64:
			if terms += isTerm(c.Signal); terms > 1 {
				c.Signal = int(unix.SIGKILL)
			}
			spawn.Signal(x.command, unix.Signal(c.Signal))
		}
	}
}

func isTerm(signal int) int {
	if unix.Signal(signal) == unix.SIGTERM {
		return 1
	}
	return 0
}
