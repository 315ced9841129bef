package daemon

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/caller"
	"github.com/omnijail/omnijail/internal/jail"
)

// detached is a command of a session that has no client: a pump keeps what it
// writes, for clients that come and go.
type detached struct {
	name   string // of its cgroup, by which clients ask for it
	x      *execution
	pump   *caller.Pump
	keeper *scout        // in which the pump is
	over   chan struct{} // the command has ended
	exit   api.Exit      // once it is over
}

// firstDetached is the name of the command that a session was created with.
const firstDetached = "detached"

// nobody is the client of a detached command.
type nobody struct{}

func (nobody) Write(b []byte) (int, error)      { return len(b), nil }
func (nobody) SetWriteDeadline(time.Time) error { return nil }

func (d *detached) running() bool {
	select {
	case <-d.over:
		return false
	default:
		return true
	}
}

// detach starts the command of p in a cgroup called name.
func (m *Manager) detach(j *liveJail, p *Plan, name string) (*detached, api.Exit) {
	ctx, cancel := context.WithCancelCause(j.ctx)
	plan := *p
	plan.SecretFDs = nil // the jail has them
	x := &execution{m: m, plan: &plan, j: j, began: time.Now(), events: newEvents(nobody{})}
	x.end = func(reason string) { cancel(errEnded{reason}) }
	d := &detached{name: name, x: x, over: make(chan struct{})}
	if err := x.detach(ctx, d); err != nil {
		exit := x.failure(ctx, err)
		m.undo(nil, x)
		x.events.finish(exit)
		cancel(nil)
		return nil, exit
	}
	j.mu.Lock()
	j.detached = append(j.detached, d)
	j.mu.Unlock()
	j.inside.Add(1)
	go func() {
		defer j.inside.Done()
		defer cancel(nil)
		d.exit = x.wait(ctx)
		m.undo(nil, x)
		x.record(d.exit)
		x.events.finish(d.exit)
		close(d.over)
	}()
	return d, api.Exit{}
}

// detach comes to run with a pump in the place of a client.
func (x *execution) detach(ctx context.Context, d *detached) error {
	group, err := x.j.env.group.Child(d.name)
	if err != nil {
		return err
	}
	x.group, x.brake.group, x.before = group, group, x.j.env.group.Usage()
	x.undo.Add(func() error { return x.m.removeGroup(group) })
	if err := x.files(ctx); err != nil {
		return err
	}
	source, err := x.ownStdio()
	if err != nil {
		return err
	}
	defer source.Close()
	x.j.arming.RLock()
	err = x.start(ctx)
	x.j.arming.RUnlock()
	if err != nil {
		return err
	}
	if x.master != nil {
		source = x.master
	}
	if d.keeper, d.pump, err = x.m.startPump(x.j, source, x.master != nil); err != nil {
		x.brake.end()
		x.group.Kill()
		x.reap()
	}
	return err
}

// ownStdio makes the command's descriptors: /dev/null, and a pipe whose other end
// it returns. A terminal takes the place of all three.
func (x *execution) ownStdio() (output *os.File, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	x.opened.Stdio = append(x.opened.Stdio, null)
	for range 2 {
		f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		x.opened.Stdio = append(x.opened.Stdio, f)
	}
	x.opened.Reply.Stdio = []jail.StdioKind{jail.StdioDevice, jail.StdioDevice, jail.StdioDevice}
	if x.plan.TTY != nil {
		return os.OpenFile(os.DevNull, os.O_RDONLY, 0)
	}
	var ends [2]int // not by os.Pipe: a program expects its output to wait
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	r := os.NewFile(uintptr(ends[0]), "output")
	second, err := unix.FcntlInt(uintptr(ends[1]), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		r.Close()
		unix.Close(ends[1])
		return nil, err
	}
	for i, fd := range [...]int{ends[1], second} {
		x.opened.Stdio[1+i].Close()
		x.opened.Stdio[1+i] = os.NewFile(uintptr(fd), "output")
	}
	return r, nil
}

// startPump starts the pump of a session. It ends with the jail, not with the
// command: what was written can be read afterwards.
func (m *Manager) startPump(j *liveJail, source *os.File, tty bool) (*scout, *caller.Pump, error) {
	ready, err := m.takeScout()
	if err != nil {
		return nil, nil, err
	}
	j.env.undo.Add(ready.Close)
	pump, err := caller.StartPump(j.ctx, caller.PumpOptions{
		Child: caller.Child{Init: m.cfg.Init, Caller: j.caller, Group: ready.group},
		Scout: ready.Scout, User: j.plan().User, TTY: tty, Source: source,
	})
	return ready, pump, err
}

// detachedOf returns the detached command of jail id that is called name; the one
// that the jail was created with where name is empty.
func (v View) detachedOf(id jail.ID, name string) (*detached, *api.Error) {
	j := v.find(id)
	if j == nil {
		return nil, api.NotFound()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if i := slices.IndexFunc(j.detached, func(d *detached) bool { return d.name == cmp.Or(name, firstDetached) }); i >= 0 {
		return j.detached[i], nil
	}
	if name != "" {
		return nil, api.Refuse(http.StatusConflict, "no_command", "jail %s has no detached command of that name", id).
			Hint("omnijailctl inspect %s lists them", id)
	}
	return nil, api.Refuse(http.StatusConflict, "no_command", "jail %s was not created with a command of its own", id).
		Hint("omnijailctl create … -- COMMAND runs one that can be attached to and whose output is kept")
}

// Logs has what a detached command of jail id has written sent to conn, by the pump:
// this process does not see it.
func (v View) Logs(id jail.ID, name string, conn *net.UnixConn, follow bool) error {
	d, refused := v.detachedOf(id, name)
	if refused != nil {
		return refused
	}
	f, err := conn.File()
	if err != nil {
		return err
	}
	defer f.Close()
	return d.pump.Logs(d.x.j.ctx, f, follow)
}

// HasCommand refuses a jail without the detached command, and one whose command has
// no terminal where one is wanted.
func (v View) HasCommand(id jail.ID, name string, terminal bool) *api.Error {
	d, refused := v.detachedOf(id, name)
	if refused == nil && terminal && d.x.plan.TTY == nil {
		refused = api.Refuse(http.StatusConflict, "no_terminal", "the command of jail %s has no terminal", id).
			Hint("omnijailctl logs --follow %s shows its output; create --tty gives it one", id)
	}
	return refused
}

// Attach joins conn, which has just been upgraded, to the terminal of a detached
// command of jail id. It returns when the client or the command has gone.
func (v View) Attach(id jail.ID, name string, size api.Size, conn *net.UnixConn) {
	d, refused := v.detachedOf(id, name)
	if refused != nil {
		return
	}
	var turn [1]byte // the client has read the 101: descriptors that it reads along with it are lost
	conn.SetReadDeadline(time.Now().Add(eventTimeout))
	if _, err := io.ReadFull(conn, turn[:]); err != nil || turn[0] != 0 {
		return
	}
	conn.SetReadDeadline(time.Time{})
	to := newEvents(conn)
	exit := api.Exit{Code: exitFailed}
	if err := d.attach(size, conn, to); err != nil {
		exit.Reason = audit.Escape(err.Error())
		to.finish(exit)
		return
	}
	d.x.j.audience.join(to)
	defer d.x.j.audience.leave(to)
	left := make(chan struct{})
	watch := &execution{conn: conn, master: d.x.master, command: d.x.command}
	go watch.control(func(error) { close(left) })
	select {
	case <-d.over:
		exit = d.exit
	case <-left:
		exit.Reason = "detached"
	}
	to.finish(exit)
}

// attach gives the pump one end of a stream and the client the other.
func (d *detached) attach(size api.Size, conn *net.UnixConn, to *events) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "pump"), os.NewFile(uintptr(pair[1]), "client")
	defer ours.Close()
	defer theirs.Close()
	if err := d.pump.Attach(d.x.j.ctx, ours); err != nil {
		return errors.Join(errors.New("the output of this jail's command is lost"), err)
	}
	to.send(api.Event{Started: d.x.started()})
	to.flush()
	to.sendFile(conn, api.Event{PTY: &size}, theirs)
	d.x.resize(size)
	return nil
}
