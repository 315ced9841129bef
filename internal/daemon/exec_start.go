package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/policy"
	"github.com/omnijail/omnijail/internal/pty"
	"github.com/omnijail/omnijail/internal/sealed"
	"github.com/omnijail/omnijail/internal/spawn"
	"github.com/omnijail/omnijail/internal/stage"
	"github.com/omnijail/omnijail/internal/trust"
)

// startTimeout bounds a hang between the fork and the command's first
// instruction.
const startTimeout = 10 * time.Second

// start stages the files, starts the backend and lets init go.
func (x *execution) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	backend := x.m.cfg.Backends[x.plan.Spec.Backends[0]]
	if backend == nil {
		return &jail.UnsupportedError{Backend: x.plan.Spec.Backends[0], Feature: "this jail", Need: "a backend of this build"}
	}
	if x.plan.Spec.Bare() {
		return x.startBare(ctx, backend)
	}
	staged, err := x.stage(ctx)
	if err != nil {
		return err
	}
	if staged.files.Root != nil {
		defer staged.files.Root.Close() // the jail has it by then
	}
	defer staged.release()
	if started, err := x.startReady(ctx, staged, backend); started || err != nil {
		return err
	}
	channel, theirs, err := spawn.NewChannel()
	if err != nil {
		return err
	}
	defer channel.Close()
	cmd, err := backend.Command(x.plan.Spec, jail.Staged{
		Mounts: staged.plan.Mounts, Init: x.m.cfg.Init, Chan: theirs, TTY: x.plan.TTY != nil,
	})
	if err != nil {
		theirs.Close()
		return err
	}
	x.status = cmd.Status
	x.undo.Add(cmd.Status.Close)
	o := spawn.Options{
		Netns: x.j.env.net.FD(), Cgroup: x.group.Dir(), Enter: x.group.Enter,
		Stage: func() error { return staged.plan.Apply(x.m.cfg.StageDir, staged.files, staged.grants) },
	}
	if kept := x.j.env.kept; kept != nil {
		defer staged.files.Kept.Close()
		o.Kept, o.Clone = kept.ns, func() error { return kept.files.Clone(staged.files.Kept) }
	}
	x.process, err = x.m.cfg.Spawner.Start(cmd, o)
	if err != nil {
		return err
	}
	x.undo.Add(x.process.Close)
	x.protections = staged.plan.Protections(staged.files.Names)
	staged.release()
	return x.letGo(ctx, channel, backend, staged.places)
}

// letGo waits for init, records the start, and lets the command run.
func (x *execution) letGo(ctx context.Context, channel *spawn.Channel, backend jail.Backend, places []child.Place) (err error) {
	defer func() {
		if err != nil {
			x.brake.end()
			x.group.Kill()
			x.reap()
		}
		if errors.Is(err, spawn.ErrInitGone) {
			x.m.cfg.Log.Error("backend failed", "jail", x.j.id, "complaint", audit.Escape(x.process.Complaint()))
		}
	}()
	if x.command == nil {
		if x.command, err = channel.Ready(ctx); err != nil {
			return err
		}
		x.undo.Add(x.command.Close)
	}
	if err = x.watchMounts(); err != nil {
		return err
	}
	if err = x.watchBegins(ctx); err != nil {
		return err
	}
	reason := ""
	if x.plan.Spec.Bare() {
		reason = notIsolated
	}
	if _, err = x.m.auditor.own(audit.Record{
		Reason: reason, Kind: audit.KindJail, Jail: x.j.id.String(), UID: x.j.owner, Policy: x.j.spec().Policy.Name,
		Decision: audit.Allow, Argv0: audit.Escape(string(x.plan.Argv[0])), Origin: x.j.spec().Policy.Origin,
	}); err != nil {
		return fmt.Errorf("the start could not be recorded, so the command was not run: %w", err)
	}
	if err = x.send(channel, backend, places); err != nil {
		return err
	}
	if err = channel.Result(ctx); err != nil {
		return err
	}
	x.m.metrics.starts.Observe(time.Since(x.began).Seconds())
	x.announce()
	return nil
}

// send gives init its go, with the launch record and the command's descriptors,
// which nobody but the command has from then on.
func (x *execution) send(channel *spawn.Channel, backend jail.Backend, places []child.Place) error {
	defer x.releaseOpened()
	record, files, err := x.launch(places, backend)
	if err != nil {
		return err
	}
	defer record.Close()
	return channel.Go(record, files...)
}

// announce tells the client what runs, and hands it the terminal.
func (x *execution) announce() {
	x.events.send(api.Event{Started: x.started()})
	for _, dir := range x.opened.Reply.Shared {
		x.events.note(sharedFiles(dir))
	}
	for _, w := range x.plan.Spec.Warnings {
		x.events.note(audit.Escape(w), "")
	}
	switch usual := x.m.Facts().Backends; {
	case x.plan.Spec.Bare():
		x.events.note(notIsolated, "")
	case x.j.spec().Passed != "":
		x.events.note("jail made by "+x.j.backend+": "+x.j.spec().Passed, "")
	case len(usual) > 0 && x.j.backend != usual[0]:
		x.events.note("jail made by "+x.j.backend+", as the policy or the request says", "")
	}
	if x.master == nil || x.conn == nil { // a pump has it
		return
	}
	x.events.flush()
	x.events.sendFile(x.conn, api.Event{PTY: x.plan.TTY}, x.master)
}

// started says what runs, and in what.
func (x *execution) started() *api.Started {
	spec := x.j.spec()
	started := &api.Started{
		Jail: x.j.id.String(), Backend: x.j.backend, Policy: spec.Policy.Name, Bindings: describeBindings(spec.Bindings),
		Exposed: escaped(x.opened.Reply.Exposed), Notes: escaped(x.opened.Reply.Notes),
	}
	if spec.Policy.Origin != "" && spec.Policy.Origin != spec.Policy.Name {
		started.Policy += " (" + spec.Policy.Origin + ")"
	}
	for _, g := range spec.Needs {
		started.Guarantees = append(started.Guarantees, string(g))
	}
	return started
}

// staging is the plan of the file system and what its steps refer to.
type staging struct {
	plan   stage.Plan
	files  stage.Descriptors
	places []child.Place    // for the wall behind the mounts
	grants []jail.OpenGrant // the caller's, then those of the cache
	turn   func()           // gives back the turn of a start with many names
}

// stage clones the grants, has the scout find the names below them, and plans.
func (x *execution) stage(ctx context.Context) (_ *staging, err error) {
	st := &staging{turn: func() {}}
	defer func() {
		if err != nil {
			st.release()
		}
	}()
	if nameCount(x.opened.Reply.Grants) > manyNames {
		if st.turn, err = x.m.crowded.take(ctx, x.j.owner); err != nil {
			return nil, err
		}
	}
	for i, g := range x.opened.Reply.Grants {
		tree, err := stage.CloneTree(x.opened.Grants[i], g.Write)
		if err != nil {
			return nil, fmt.Errorf("grant %s: %w", audit.Escape(g.Path), err)
		}
		st.files.Trees = append(st.files.Trees, tree)
	}
	below, err := x.opened.Resolve(ctx, st.files.Trees, stage.CloneTree)
	if err != nil {
		return nil, err
	}
	st.files.Names, st.files.Layers = below.Names, below.Layers
	if err := x.watchNames(ctx); err != nil {
		return nil, err
	}
	if err := x.stageCache(st); err != nil {
		return nil, err
	}
	if err := x.terminal(st); err != nil {
		return nil, err
	}
	node := x.m.trustNode()
	layout, err := x.layout(node, st.grants)
	if err != nil {
		return nil, err
	}
	st.places = layout.Places()
	st.plan, err = stage.NewPlan(layout)
	if err != nil {
		return nil, &jail.OpenError{Code: "grant", Exit: 125, Reason: err.Error()}
	}
	if x.ready == nil {
		st.files.Root = x.m.takeRoot(node)
		x.space = &stage.Space{}
		x.undo.Add(x.space.Close)
	}
	st.files.Space = x.space
	if x.j.env.kept != nil {
		st.files.Kept = &stage.Clones{}
	}
	return st, nil
}

// terminal makes the jail's own devpts and, when asked for, its terminal.
func (x *execution) terminal(st *staging) error {
	pts, err := x.devpts()
	if err != nil {
		return err
	}
	st.files.Pts = pts.Mount()
	if x.plan.TTY == nil {
		return nil
	}
	x.master, x.slave, err = pts.Terminal(x.plan.User.UID)
	if err != nil {
		return err
	}
	x.undo.Add(x.master.Close)
	x.undo.Add(x.slave.Close)
	return pty.Resize(x.master, x.plan.TTY.Rows, x.plan.TTY.Cols)
}

// devpts is the jail's own.
func (x *execution) devpts() (*pty.Devpts, error) {
	if x.ready != nil {
		return x.ready.pts, nil
	}
	pts, err := pty.NewDevpts()
	if err != nil {
		return nil, err
	}
	x.undo.Add(pts.Close)
	return pts, nil
}

// layout is the file system of this jail: the node's system directories, the
// composed /etc, and the grants.
func (x *execution) layout(node *etc, grants []jail.OpenGrant) (stage.Layout, error) {
	env, spec, user := &x.j.env, x.plan.Spec, x.plan.User
	home := policy.ScratchHome(user)
	inside := user
	inside.Groups = spec.OCI.Process.User.AdditionalGids
	tree, err := node.compose(trust.Input{
		Jail: x.j.id.String(), CADER: env.answer.CADER, User: inside, Home: home, Shell: "/bin/sh", Git: x.opened.Reply.Git,
		GitHosts: gitHosts(spec.Bindings, x.j.policy.Load().dropped), Policy: policy.Inside(spec), OwnJava: x.opened.Reply.OwnJava,
	})
	if err != nil {
		return stage.Layout{}, err
	}
	l := stage.Layout{
		User: inside, Home: home, Grants: grants,
		Scratch: tmpfsSize(spec.OCI.Mounts, home), Tmp: tmpfsSize(spec.OCI.Mounts, "/tmp"), Shm: tmpfsSize(spec.OCI.Mounts, "/dev/shm"),
	}
	place(&l, tree)
	l.System = systemMounts(spec)
	l.Masks = procMasks(spec)
	showProcessors(&l, x.j.processors())
	return l, nil
}

// procMasks are those that there is something to mask for on this node.
func procMasks(spec *jail.Spec) (masks []stage.ProcMask) {
	for _, p := range spec.OCI.Linux.MaskedPaths {
		if fi, err := os.Lstat(p); err == nil {
			masks = append(masks, stage.ProcMask{Path: p, Dir: fi.IsDir()})
		}
	}
	return masks
}

// systemMounts are the node's own directories, or its links in their place.
func systemMounts(spec *jail.Spec) (out []stage.System) {
	for _, mnt := range spec.OCI.Mounts {
		switch mnt.Type {
		case "bind":
			out = append(out, stage.System{Path: mnt.Destination, Source: mnt.Source})
		case "symlink":
			out = append(out, stage.System{Path: mnt.Destination, Link: mnt.Source})
		}
	}
	return out
}

// trustNode is the node's part of /etc, read again when it has changed.
func (m *Manager) trustNode() *etc {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.node.Stale() {
		if n, err := readEtc(m.cfg.SharedDir); err == nil {
			m.node = n
		}
	}
	return m.node
}

// gitHosts are the hosts whose git@ and ssh:// remotes are rewritten to https.
func gitHosts(bs []creds.Binding, dropped []int) (hosts []string) {
	for i, b := range bs {
		if slices.Contains(dropped, i) || b.Type != creds.Git && b.Type != creds.GH {
			continue
		}
		for _, t := range b.Targets {
			if t.Scheme == creds.SchemeBasic && !slices.Contains(hosts, t.Authority.Host()) {
				hosts = append(hosts, t.Authority.Host())
			}
		}
	}
	return hosts
}

// launch is the record for init and the files it speaks of, which stay x's.
func (x *execution) launch(places []child.Place, backend jail.Backend) (*os.File, []*os.File, error) {
	p, oci := x.plan, x.plan.Spec.OCI.Process
	own := map[string]string{}
	if !p.Spec.Bare() {
		own = trust.Environment()
		if x.opened.Reply.OwnJava {
			maps.Copy(own, trust.OwnJavaEnvironment(p.Spec.Env.Set))
		}
	}
	for k, v := range x.j.policy.Load().placeholders {
		own[k] = v
	}
	if p.Spec.ProxyEnv && !p.Spec.Bare() {
		maps.Copy(own, proxyVariables())
	}
	own["OMNIJAIL"], own["OMNIJAIL_ID"] = "1", x.j.id.String()
	l := &child.Launch{
		Exec: x.opened.Reply.Exec, Argv: p.Argv, Env: policy.BuildEnv(p.Spec.Env, p.Context, own), Cwd: x.opened.Reply.Cwd,
		UID: oci.User.UID, GID: oci.User.GID, Groups: oci.User.AdditionalGids, TTY: p.TTY != nil,
		Wall: wallMode(p.Spec), Places: places,
	}
	if len(p.Spec.Rules) > 0 && !p.Spec.Bare() {
		l.Home = policy.ScratchHome(p.User)
	}
	limits, err := rlimits(oci.Rlimits)
	if err != nil {
		return nil, nil, err
	}
	l.Limits, l.Processors = limits, x.j.processors()
	var files []*os.File
	// A terminal that was asked for and has no terminal to stand in for takes all
	// three places.
	whole := p.TTY != nil && x.opened.Reply.Stdio[0] != jail.StdioTTY
	for i, kind := range x.opened.Reply.Stdio {
		f := x.opened.Stdio[i]
		if whole {
			kind = jail.StdioTTY
		}
		if kind == jail.StdioTTY {
			if x.slave == nil {
				return nil, nil, &jail.OpenError{Code: "stdio", Exit: 125, Reason: fmt.Sprintf("descriptor %d is a terminal, which a jail never gets: pipe it instead", i)}
			}
			f = x.slave
		}
		l.Stdio[i] = child.FirstFile + len(files)
		files = append(files, f)
	}
	if p.Spec.Observe {
		socket, err := x.observe()
		if err != nil {
			return nil, nil, err
		}
		x.opened.Stdio = append(x.opened.Stdio, socket) // closed with them
		l.Observer = child.FirstFile + len(files)
		files = append(files, socket)
	}
	harden(backend, x.j.spec(), l)
	b, err := child.EncodeLaunch(l)
	if err != nil {
		return nil, nil, err
	}
	file, err := sealed.File("launch", b)
	if err != nil {
		return nil, nil, err
	}
	return file, files, nil
}

// harden lets a backend ask more of init than the policy does.
func harden(b jail.Backend, spec *jail.Spec, l *child.Launch) {
	if h, ok := b.(jail.Hardener); ok {
		h.Harden(spec, l)
	}
}

// wallMode leaves the files of a nested sandbox to the mounts: behind a wall it
// could not mount anything itself.
func wallMode(spec *jail.Spec) child.WallMode {
	if slices.Contains(spec.Weaken, jail.WeakNestedSandbox) {
		return child.WallScopes
	}
	return child.WallFiles
}
