package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/omnijail/omnijail/internal/caller"
	"github.com/omnijail/omnijail/internal/cgroup"
	"github.com/omnijail/omnijail/internal/cleanup"
	"github.com/omnijail/omnijail/internal/config"
	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/policy"
	"github.com/omnijail/omnijail/netns"
)

// environment is what a jail keeps for all of its commands.
type environment struct {
	undo   cleanup.Stack // after the last command's own
	group  *cgroup.Group // around the commands' own, with the jail's limits
	wayOut               // a session may get another
	kept   *shared       // what the commands of a session share; else nil
}

// open makes the jail: its cgroup, a network whose sockets the egress process
// holds, and everything of the caller's files opened by a scout. The two halves do
// not depend on each other and run side by side.
func (x *execution) open(ctx context.Context) error {
	env, m := &x.j.env, x.m
	if env.group == nil {
		group, err := m.cfg.Cgroups.New("jail-" + x.j.id.String())
		if err != nil {
			return err
		}
		env.group = group
		env.undo.Add(func() error { return m.removeGroup(group) })
	}
	if err := x.limit(); err != nil {
		return err
	}
	if x.j.spec().Bare() {
		return x.scout(ctx, false)
	}
	files := x.files
	if x.j.session { // its commands open theirs, and fetch a cache each
		files = func(ctx context.Context) error { return x.scout(ctx, false) }
	}
	var connected, opened error
	var both sync.WaitGroup
	both.Go(func() { connected = x.connect(ctx, env) })
	both.Go(func() { opened = files(ctx) })
	both.Wait()
	if err := errors.Join(opened, connected); err != nil {
		return err
	}
	var err error
	first := x.j.policy.Load()
	if first.placeholders, err = env.answer.Placeholders(first.plan.Spec.Bindings); err != nil {
		x.j.proc.Load().end(err)
		return errEgressGone
	}
	if err := x.gate(ctx); err != nil {
		return err
	}
	return x.credentials(ctx, first)
}

// limit bounds the jail's cgroup. A limit that this node cannot hold refuses the
// exec, it is never dropped.
func (x *execution) limit() error {
	l := x.j.spec().Limits
	err := x.j.env.group.SetLimits(cgroup.Limits{Memory: l.Memory, Swap: l.Swap, Pids: l.Pids, CPU: l.CPU})
	if errors.Is(err, cgroup.ErrNoSwap) {
		return &jail.UnsupportedError{
			Backend: x.j.spec().Backends[0], Feature: "limits.swap", Need: "a kernel that counts swap", Fix: "boot with swapaccount=1",
		}
	}
	if missing := (*cgroup.MissingError)(nil); errors.As(err, &missing) {
		return &jail.UnsupportedError{
			Backend: x.j.spec().Backends[0], Feature: "limits." + missing.Controller, Need: "a cgroup controller for it",
			Fix: "omnijailctl doctor says what this node has; under systemd: Delegate=yes",
		}
	}
	return err
}

// connect gives the jail its network, or what serves the one that it has.
func (x *execution) connect(ctx context.Context, env *environment) error {
	net, err := env.net, error(nil)
	if net == nil {
		if net, err = x.m.network(&env.undo); err != nil {
			return err
		}
	}
	n, err := x.m.wayOut(ctx, x.j, x.j.policy.Load(), net, &env.undo)
	env.wayOut = *n
	if n.proc != nil {
		x.j.proc.Store(n.proc)
	}
	return err
}

// wayOut is a jail's network with what serves it.
type wayOut struct {
	net    *netns.Net
	opened netns.Opening
	proc   *egressProc // that has its sockets
	answer wire.Answer
	leave  func() // has proc forget the jail; nil without proc. It waits, and does it once
}

// network takes one from the pool.
func (m *Manager) network(undo *cleanup.Stack) (*netns.Net, error) {
	net, err := m.cfg.Networks.Take()
	if err != nil {
		return nil, fmt.Errorf("network: %w", err)
	}
	undo.Add(net.Close)
	return net, nil
}

// wayOut hands the sockets of net over to the egress process of j, whose policy is in
// force then. What there is of it is returned after an error too; undo takes it apart.
func (m *Manager) wayOut(ctx context.Context, j *liveJail, policy *inForce, net *netns.Net, undo *cleanup.Stack) (n *wayOut, err error) {
	n = &wayOut{net: net}
	if n.opened, err = opening(net.Interception(), policy.plan.Spec); err != nil {
		return n, err
	}
	if err := net.Open(n.opened); err != nil {
		return n, fmt.Errorf("network: %w", err)
	}
	proc, err := m.egressFor(ctx, keyOf(j.owner, policy.plan), j)
	if err != nil {
		return n, err
	}
	n.proc, n.leave = proc, sync.OnceFunc(func() { proc.detach(j.id) })
	undo.Add(func() error { n.leave(); return nil })
	set := m.cfg.Settings()
	j.under.Store(set)
	told := toldOf(set, policy)
	file, err := wire.Seal("egress-spec", told)
	if err != nil {
		return n, err
	}
	defer file.Close()
	if err := proc.wall.Admit(j.id.String(), openings(set, told)); err != nil {
		return n, err
	}
	n.answer, err = proc.attach(ctx, j, file, net.Sockets())
	net.Forget()
	return n, err
}

// toldOf is what the egress process is told of a policy.
func toldOf(set *config.Config, n *inForce) wire.Spec {
	spec, user := n.plan.Spec, n.plan.User
	told := wire.Spec{
		Rules: spec.Rules, Bindings: spec.Bindings, Keys: sourceKeys(spec),
		Hosts:        set.Upstream.For(user.UID, user.Name, operatorsName(spec)),
		AllowPrivate: slices.Contains(spec.Weaken, jail.WeakPrivateDestinations),
		Denied:       spec.Denied,
		GitHosts:     gitHosts(spec.Bindings, nil),
		BodyDeny:     spec.BodyCheck, Freeze: spec.OnMisuse == "freeze", OnReflection: spec.OnReflection, OnMinted: spec.OnMinted,
	}
	for _, s := range n.secrets {
		told.Numbers = append(told.Numbers, s.number)
	}
	return told
}

// operatorsName is the name by which the operator's configuration knows a
// policy. A caller's own document has none there, whatever it calls itself.
func operatorsName(spec *jail.Spec) string {
	if spec.Policy.Own {
		return ""
	}
	return spec.Policy.Name
}

// sourceKeys names the value of each binding in the egress process's cache: the
// same policy and the same sources mean the same value. Values that the client
// sent are not kept, they may differ the next time.
func sourceKeys(spec *jail.Spec) []string {
	keys := make([]string, len(spec.Bindings))
	for i, b := range spec.Bindings {
		if commands := commandsOf(b.Sources); len(commands) > 0 {
			keys[i] = spec.Policy.Digest + "\x00" + b.Name + "\x00" + strings.Join(commands, "\x00")
		}
	}
	return keys
}

// files has the caller's files opened and the jail's cache fetched, side by side.
func (x *execution) files(ctx context.Context) error {
	var opened, cached error
	var both sync.WaitGroup
	both.Go(func() { x.cache, cached = x.takeCache(ctx) })
	both.Go(func() { opened = x.scout(ctx, !x.plan.Spec.Bare()) })
	both.Wait()
	return errors.Join(opened, cached)
}

// scout has the caller's paths, descriptors and executable opened by a child
// that is the caller. watch says that it goes on to watch what the command writes.
func (x *execution) scout(ctx context.Context, watch bool) error {
	m, p := x.m, x.plan
	ready, err := x.scoutFor(ctx, watch)
	if err != nil {
		return err
	}
	var conn *os.File
	if x.conn != nil {
		if conn, err = x.conn.File(); err != nil {
			return err
		}
		defer conn.Close()
	}
	x.opened, err = caller.Open(ctx, caller.Options{
		Child:     caller.Child{Init: m.cfg.Init, Caller: p.Caller, Group: ready.group},
		Scout:     ready.Scout,
		Conn:      conn,
		Listeners: []string{m.cfg.Settings().Socket},
		Request: jail.OpenRequest{
			User: p.User, View: p.Spec.View, Argv0: argv0(p), Path: pathOf(p), SystemDirs: systemDirs(p.Spec),
			Stdio: conn != nil, SecretFDs: p.SecretFDs, TTY: p.TTY != nil, GitConfig: true, Watch: watch,
		},
	})
	if err != nil {
		return err
	}
	x.undo.Add(x.opened.Close)
	x.hidden = slices.DeleteFunc(x.opened.Reply.Hidden, func(name string) bool { return name == policy.LocalName }) // no command needs it
	x.doors = x.opened.Reply.Doors
	x.atHome = !p.Spec.Bare() && x.opened.Reply.Cwd == policy.ScratchHome(p.User)
	x.j.mu.Lock()
	x.j.notes = x.opened.Reply.Notes
	x.j.exposed = escaped(x.opened.Reply.Exposed)
	x.j.mu.Unlock()
	return nil
}

// argv0 is what the command was called by; nothing where there is none yet.
func argv0(p *Plan) []byte {
	if len(p.Argv) == 0 {
		return nil
	}
	return p.Argv[0]
}

// pathOf is the PATH that the command will have.
func pathOf(p *Plan) string {
	for _, kv := range policy.BuildEnv(p.Spec.Env, p.Context, nil) {
		if v, ok := strings.CutPrefix(string(kv), "PATH="); ok {
			return v
		}
	}
	return ""
}

func systemDirs(spec *jail.Spec) (dirs []string) {
	if spec.Bare() {
		return []string{"/"}
	}
	for _, mnt := range spec.OCI.Mounts {
		if mnt.Type == "bind" || mnt.Type == "symlink" {
			dirs = append(dirs, mnt.Destination)
		}
	}
	return dirs
}

// credentials starts the sources and waits for those that the start depends on.
func (x *execution) credentials(ctx context.Context, first *inForce) error {
	s := &sources{m: x.m, j: x.j, sealed: map[string]*os.File{}}
	for i, name := range x.plan.SecretFDs {
		s.sealed[name] = x.opened.Secrets[i]
	}
	for i, g := range x.opened.Reply.Grants {
		if g.Write {
			s.writable = append(s.writable, x.opened.Grants[i])
		}
	}
	x.j.sources = s
	dropped, err := s.start(ctx, first.secrets, x.j.env.answer.Cached)
	if err != nil {
		return err
	}
	x.j.drop(first, dropped)
	x.j.mu.Lock()
	defer x.j.mu.Unlock()
	x.j.ready = true
	return nil
}
