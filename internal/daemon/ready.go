package daemon

import (
	"context"
	"errors"
	"os"
	"reflect"
	"slices"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/omnijail/omnijail/internal/cgroup"
	"github.com/omnijail/omnijail/internal/cleanup"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/mountwatch"
	"github.com/omnijail/omnijail/internal/node"
	"github.com/omnijail/omnijail/internal/pty"
	"github.com/omnijail/omnijail/internal/spawn"
	"github.com/omnijail/omnijail/internal/stage"
	"github.com/omnijail/omnijail/netns"
)

// readyJail is a jail that has started and waits in init for its command. It holds
// nothing of any caller's, and it is used once: whose it becomes, it stays.
type readyJail struct {
	id      jail.ID
	spec    *jail.Spec // that it was made after
	node    *etc       // whose parts are composed in it
	made    stage.Made
	around  *mountwatch.Around // what it has of the node
	group   *cgroup.Group
	net     *netns.Net
	pts     *pty.Devpts
	space   *stage.Space
	channel *spawn.Channel
	process *spawn.Process
	init    *os.File // pidfd
	status  *os.File
	undo    *cleanup.Stack
}

// Close ends a jail that nobody took.
func (r *readyJail) Close() error { return r.undo.Run() }

// alive reports whether it still waits.
func (r *readyJail) alive() bool { return !spawn.Ended(r.init) && !spawn.Ended(r.process.PidFD) }

// takeReady returns a jail that waits for a command like p's, nil when there is
// none: the start then makes its own. The next ones are made after p.
func (m *Manager) takeReady(p *Plan) *readyJail {
	if !m.waits(p.Spec) {
		return nil
	}
	m.usual.Store(p.Spec)
	now := m.trustNode()
	r, _ := m.ready.take(func(r *readyJail) bool {
		return r.node == now && alike(r.spec, p.Spec) && r.alive() && !r.around.Changed()
	})
	return r
}

// sift ends the jails that have of the node what has been mounted over or unmounted
// there since: they would keep that in use for as long as they wait.
func (m *Manager) sift() {
	m.ready.sift(func(r *readyJail) bool { return !r.around.Changed() })
}

// waits reports whether a jail of spec may have started before its command comes:
// it asks nothing of the backend that is rare, no limit that a process must be born
// under, and no other list of processors than the node's.
func (m *Manager) waits(spec *jail.Spec) bool {
	l := spec.Limits
	if l.CPU != 0 {
		return false
	}
	for controller, limit := range map[string]int64{"memory": l.Memory + l.Swap, "pids": l.Pids} {
		if limit != 0 && !m.cfg.Cgroups.InPlace(controller) {
			return false
		}
	}
	if len(spec.Backends) == 0 || spec.Backends[0] != node.Bubblewrap || m.cfg.Backends[node.Bubblewrap] == nil {
		return false
	}
	return !spec.Bare() && !spec.Observe && len(spec.Weaken) == 0
}

// alike reports whether the backend is told the same for both: what differs is for
// init alone, or is mounted later.
func alike(a, b *jail.Spec) bool { return reflect.DeepEqual(told(a), told(b)) }

// told is what a backend goes by that starts before the command is known.
func told(s *jail.Spec) *jail.Spec {
	oci := *s.OCI
	process, linux := *oci.Process, *oci.Linux
	process.User, process.Args, process.Env, process.Cwd, process.Rlimits = specs.User{}, nil, nil, "", nil
	process.Terminal = false
	linux.Resources = nil
	oci.Process, oci.Linux = &process, &linux
	oci.Mounts = slices.DeleteFunc(slices.Clone(oci.Mounts), func(m specs.Mount) bool {
		return m.Type == "tmpfs" && m.Destination != "/tmp" && m.Destination != "/dev/shm"
	})
	return &jail.Spec{OCI: &oci, Backends: s.Backends[:1], Weaken: s.Weaken, Observe: s.Observe}
}

var (
	errUnusual = errors.New("no jail of this node may start before its command")
	errPassed  = errors.New("the node's mounts have changed meanwhile")
)

// newReady starts a jail like that of the last command that one could have waited for.
func (m *Manager) newReady() (*readyJail, error) {
	spec := m.usual.Load()
	if !m.waits(spec) {
		return nil, errUnusual
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	r := &readyJail{id: jail.NewID(), spec: spec, node: m.trustNode()}
	var undo cleanup.Stack
	if err := m.prepare(ctx, r, &undo); err != nil {
		m.cfg.Log.Warn("no jail kept ready", "err", errors.Join(err, undo.Run()))
		return nil, err
	}
	r.undo = undo.Release()
	if r.around.Changed() {
		return nil, errors.Join(errPassed, r.Close())
	}
	return r, nil
}

// prepare takes the steps of a start that need nothing of a caller's.
func (m *Manager) prepare(ctx context.Context, r *readyJail, undo *cleanup.Stack) (err error) {
	if r.group, err = m.cfg.Cgroups.New("jail-" + r.id.String()); err != nil {
		return err
	}
	undo.Add(func() error { return m.removeGroup(r.group) })
	if r.net, err = m.network(undo); err != nil {
		return err
	}
	if r.pts, err = pty.NewDevpts(); err != nil {
		return err
	}
	undo.Add(r.pts.Close)
	plan, err := stage.Base(baseLayout(r.spec, r.node))
	if err != nil {
		return err
	}
	r.made = plan.Made()
	if r.around, err = mountwatch.Look(plan.Sources()); err != nil {
		return err
	}
	undo.Add(r.around.Close)
	if err := m.startReady(r, plan, undo); err != nil {
		return err
	}
	if r.init, err = r.channel.Ready(ctx); err != nil {
		return err
	}
	undo.Add(r.init.Close)
	return nil
}

// startReady starts the backend.
func (m *Manager) startReady(r *readyJail, plan stage.Plan, undo *cleanup.Stack) error {
	channel, theirs, err := spawn.NewChannel()
	if err != nil {
		return err
	}
	r.channel = channel
	undo.Add(channel.Close)
	cmd, err := m.cfg.Backends[r.spec.Backends[0]].Command(r.spec, jail.Staged{Mounts: plan.Mounts, Init: m.cfg.Init, Chan: theirs})
	if err != nil {
		theirs.Close()
		return err
	}
	r.status = cmd.Status
	undo.Add(cmd.Status.Close)
	r.space = &stage.Space{}
	undo.Add(r.space.Close)
	files := stage.Descriptors{Pts: r.pts.Mount(), Space: r.space}
	r.process, err = m.cfg.Spawner.Start(cmd, spawn.Options{
		Netns: r.net.FD(), Cgroup: r.group.Dir(), Enter: r.group.Enter,
		Stage: func() error { return plan.Apply(m.cfg.StageDir, files, nil) },
	})
	if err != nil {
		return err
	}
	undo.Add(func() error { return errors.Join(m.putDown(r.group, r.process), r.process.Close()) })
	return nil
}

// putDown kills what is in group and reaps the backend's process.
func (m *Manager) putDown(group *cgroup.Group, p *spawn.Process) error {
	ctx, cancel := context.WithTimeout(context.Background(), groupTimeout)
	defer cancel()
	err := group.Kill()
	_, gone := p.Wait(ctx)
	return errors.Join(err, gone)
}

// baseLayout is the file system of a jail before it is anybody's.
func baseLayout(spec *jail.Spec, n *etc) stage.Layout {
	l := stage.Layout{Tmp: tmpfsSize(spec.OCI.Mounts, "/tmp"), Shm: tmpfsSize(spec.OCI.Mounts, "/dev/shm")}
	place(&l, n.tree())
	l.System = systemMounts(spec)
	l.Masks = procMasks(spec)
	return l
}
