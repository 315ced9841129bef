package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/caches"
	"github.com/omnijail/omnijail/internal/caller"
	"github.com/omnijail/omnijail/internal/cgroup"
	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/cleanup"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/mountwatch"
	"github.com/omnijail/omnijail/internal/spawn"
	"github.com/omnijail/omnijail/internal/stage"
)

// execution is one command in a jail, from its request to its end. Its steps are in
// the files exec_open.go (what it may see), exec_start.go (how it
// comes to run) and exec_wait.go (how it ends).
type execution struct {
	m      *Manager
	plan   *Plan
	conn   *net.UnixConn
	began  time.Time
	j      *liveJail
	events *events       // to the client
	group  *cgroup.Group // what it runs in: the jail's own where there is no other command
	undo   cleanup.Stack
	ready  *readyJail // that it will run in; nil once it has its command, or where none waited
	opened *caller.Opened
	cache  *caches.Tree // nil for none
	hidden []string
	doors  []string // Unix sockets and FIFOs that are hidden in the grants
	atHome bool     // the working directory is the jail's own empty home
	master *os.File // of the jail's terminal, until the client has it
	slave  *os.File

	process     *spawn.Process
	space       *stage.Space  // what it writes to in memory; nil without a jail
	status      *os.File      // the backend's report of the exit
	direct      chan struct{} // closed when a command that is not isolated was reaped; nil for others
	command     *os.File      // pidfd of the command
	protections []stage.Protection
	mounts      *mountwatch.Watch // of the protections; nil where there are none
	restaging   sync.Mutex
	restaged    map[string]time.Time // what was put back, and when that was last said; under restaging
	brake       brake
	watch       *newNames   // nil where the command can write nothing of the caller's
	found       int         // names that it has reported
	lost        atomic.Bool // a protection has gone
	filled      atomic.Pointer[overCache]
	end         func(reason string) // ends the command; first call counts
	before      cgroup.Usage        // of the jail, when the command came
	alone       bool                // the jail ends with it
}

// errEnded is why an exec's context ends: somebody ended it.
type errEnded struct{ reason string }

func (e errEnded) Error() string { return e.reason }

// Run runs a Plan to its end on the client's connection, which has just been
// upgraded: a jail is made, one command runs in it, and when it returns nothing of
// the jail is left.
func (m *Manager) Run(t *Ticket, conn *net.UnixConn) {
	defer m.restock()()
	ready, id := m.takeReady(t.plan), jail.NewID()
	if ready != nil {
		id = ready.id
	}
	j, cancel := m.newJail(id, t.plan)
	defer cancel(nil)
	x := m.newExecution(j, t.plan, conn)
	if ready != nil {
		x.adopt(ready)
	}
	defer m.undo(j, x) // after a panic too: a jail that nobody waits for would stay, with its network
	exit := x.run(j.ctx, cancel)
	m.undo(j, x)
	x.record(exit) // the last of this jail's: what it was refused has been written and shown by then
	x.events.finish(exit)
}

// newJail returns a jail that is in no table yet. Its context ends by cancel or by
// its end function.
func (m *Manager) newJail(id jail.ID, p *Plan) (*liveJail, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	j := &liveJail{
		id: id, owner: p.Caller.UID(), caller: p.Caller, confined: p.Confined, backend: p.Spec.Backends[0],
		started: time.Now(), ctx: ctx, metrics: m.metrics, specs: map[uint32]*jail.Spec{0: p.Spec},
		commands: map[*execution]bool{}, gone: make(chan struct{}), end: func(reason string) { cancel(errEnded{reason}) },
	}
	first, _ := j.next(p) // a policy has fewer bindings than a jail can have values
	j.admit(first)
	j.policy.Store(first)
	j.env.undo.Add(func() error { close(j.gone); return nil }) // the last of all
	return j, cancel
}

// newExecution returns a command of j whose client is told what becomes of it.
func (m *Manager) newExecution(j *liveJail, p *Plan, conn *net.UnixConn) *execution {
	x := &execution{m: m, plan: p, j: j, conn: conn, began: time.Now(), events: newEvents(conn), end: j.end}
	j.audience.join(x.events)
	return x
}

// run is the whole life of a jail with one command.
func (x *execution) run(ctx context.Context, cancel context.CancelCauseFunc) api.Exit {
	x.register()
	if ctx.Err() != nil { // ended while it was coming
		return x.failure(ctx, context.Cause(ctx))
	}
	err := x.open(ctx)
	if err == nil {
		x.group = x.j.env.group
		x.brake.group = x.group
		err = x.start(ctx)
	}
	if err != nil {
		return x.failure(ctx, err)
	}
	go x.control(cancel)
	x.alone = true
	return x.wait(ctx)
}

// register puts the jail into the table.
func (x *execution) register() {
	m, j := x.m, x.j // a jail must not hold the execution that made it
	m.mu.Lock()
	m.jails[j.id] = j
	closing, revoked := m.closing, m.revoked(x.plan.Epoch, j)
	m.mu.Unlock()
	if revoked != "" {
		j.end(revoked)
	}
	if closing { // admitted a moment before, and missed by Close
		j.end(stopping)
	}
	m.metrics.jails.Inc()
	m.memory.Busy()
	j.env.undo.Add(func() error {
		m.mu.Lock()
		delete(m.jails, j.id)
		m.mu.Unlock()
		m.metrics.jails.Dec()
		m.memory.Busy()
		return nil
	})
}

// failure is the exit of a command that never ran.
func (x *execution) failure(ctx context.Context, err error) api.Exit {
	x.m.metrics.execs.WithLabelValues("failed").Inc()
	var refused *jail.OpenError
	var notStarted *child.StartError
	var unsupported *jail.UnsupportedError
	var ended errEnded
	exit := api.Exit{Code: 125, Reason: audit.Escape(err.Error())}
	switch {
	case errors.As(context.Cause(ctx), &ended):
		exit.Reason = ended.reason
	case errors.As(err, &refused):
		exit = api.Exit{Code: refused.Exit, Reason: printable(refused.Reason), Fix: printable(refused.Fix)}
		x.refused(&exit, refused.Code)
	case errors.As(err, &notStarted):
		exit.Code = notStarted.Exit()
		exit.Reason = startReason(notStarted)
	case errors.As(err, &unsupported):
		exit.Fix = unsupported.Fix
		x.refused(&exit, "unsupported")
	default:
		x.m.cfg.Log.Error("jail: not started", "jail", x.j.id, "uid", x.j.owner, "err", err)
	}
	return exit
}

// refused records a start that was refused by a line of the policy or for what this
// node lacks. A command that is not there was refused by nothing, and a credential
// without a value has its own record.
func (x *execution) refused(exit *api.Exit, code string) {
	if exit.Code != exitFailed || code == "credential" {
		return
	}
	exit.ID = x.m.RecordRefusal(audit.Record{
		Kind: audit.KindDenial, Decision: audit.Deny, Jail: x.j.id.String(), UID: x.j.owner, Policy: x.j.spec().Policy.Name,
		Origin: x.j.spec().Policy.Origin, Argv0: audit.Escape(string(argv0(x.plan))), Code: code, Reason: exit.Reason, Fix: exit.Fix,
	})
}

// RecordRefusal writes a start that was refused into the journal and returns the
// record's id, empty if it could not be written. The refusal stands either way.
func (m *Manager) RecordRefusal(rec audit.Record) (id string) {
	rec, err := m.auditor.own(rec)
	if err != nil {
		m.cfg.Log.Error("audit: refusal not recorded", "err", err)
		return ""
	}
	return rec.ID
}

// startReason says why init could not execute the command.
func startReason(e *child.StartError) string {
	text := audit.Escape(e.Text)
	if e.Stage == child.StepExec {
		switch {
		case e.Exit() == 127 && e.Errno == syscall.ENOENT:
			return fmt.Sprintf("%s: not found in the jail (or its interpreter is not)", text)
		case errors.Is(e.Errno, syscall.ENOEXEC):
			return fmt.Sprintf("%s: not a program for this machine, nor a script with #!", text)
		}
		return fmt.Sprintf("%s: %v", text, e.Errno)
	}
	return fmt.Sprintf("%v: %s: %v", e.Stage, text, e.Errno)
}

// record writes how the exec ended.
func (x *execution) record(exit api.Exit) {
	code := exit.Code
	rec := audit.Record{
		Kind: audit.KindExec, Jail: x.j.id.String(), UID: x.j.owner, Policy: x.j.spec().Policy.Name,
		Argv0: audit.Escape(string(argv0(x.plan))), Exit: &code, Reason: audit.Escape(exit.Reason),
		Millis: uint32(time.Since(x.began).Milliseconds()),
	}
	if _, err := x.m.auditor.own(rec); err != nil {
		x.m.cfg.Log.Error("audit: end of exec not recorded", "err", err)
	}
}

// escaped are strings of a scout's as people may see them.
func escaped(texts []string) []string {
	out := slices.Clone(texts)
	for i, t := range out {
		out[i] = audit.Escape(t)
	}
	return out
}

// printable escapes a text that people read in lines, line by line.
func printable(s string) string {
	lines := slices.Collect(strings.SplitSeq(s, "\n"))
	for i, l := range lines {
		lines[i] = audit.Escape(l)
	}
	return strings.Join(lines, "\n")
}
