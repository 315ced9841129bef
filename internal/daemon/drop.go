package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/cleanup"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/policy"
	"github.com/omnijail/omnijail/internal/pty"
	"github.com/omnijail/omnijail/internal/sealed"
	"github.com/omnijail/omnijail/internal/spawn"
	"github.com/omnijail/omnijail/internal/stage"
)

// probeID is who the probe's command is: an id that no account has.
const probeID = 59999

// Drop runs one command in a real jail without grants or network and reads what
// the kernel says of it: it is how doctor and start-up know that privileges are
// dropped here, instead of trusting versions.
func Drop(ctx context.Context, cfg Config, backend jail.Backend) error {
	if backend == nil {
		return errors.New("the backend is not here to try")
	}
	var undo cleanup.Stack
	defer undo.Run()
	group, err := cfg.Cgroups.New("probe")
	if err != nil {
		return err
	}
	m := &Manager{cfg: cfg}
	undo.Add(func() error { return m.removeGroup(group) })
	out, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	undo.Add(out.Close)
	p := &probe{cfg: cfg, backend: backend, stdout: theirs}
	process, status, err := p.start(ctx, &undo, group.Dir())
	theirs.Close()
	if err != nil {
		return err
	}
	undo.Add(process.Close)
	undo.Add(status.Close)
	seen, err := io.ReadAll(io.LimitReader(out, 64<<10))
	if err != nil {
		return err
	}
	if code, err := spawn.ReadExit(status); err != nil || code != 0 {
		return fmt.Errorf("the command in the probe's jail did not run: exit %d, %w", code, errors.Join(err, errors.New(process.Complaint())))
	}
	if _, err := process.Wait(ctx); err != nil {
		return err
	}
	return dropped(string(seen))
}

// probe is the one jail of Drop.
type probe struct {
	cfg     Config
	backend jail.Backend
	stdout  *os.File
}

func (p *probe) start(ctx context.Context, undo *cleanup.Stack, cgroup *os.File) (*spawn.Process, *os.File, error) {
	user := jail.User{UID: probeID, GID: probeID, Home: "/home/probe"}
	layout := stage.Layout{User: user, Home: user.Home, System: systemLayout(p.cfg.Facts().System)}
	plan, err := stage.NewPlan(layout)
	if err != nil {
		return nil, nil, err
	}
	pts, err := pty.NewDevpts()
	if err != nil {
		return nil, nil, err
	}
	undo.Add(pts.Close)
	record := &child.Launch{
		Exec: "/bin/cat", Argv: [][]byte{[]byte("cat"), []byte("/proc/self/status")}, Env: [][]byte{[]byte("PATH=/bin")}, Cwd: "/",
		UID: user.UID, GID: user.GID, Stdio: [3]int{-1, child.FirstFile, -1},
		Wall: child.WallFiles, Places: layout.Places(),
	}
	harden(p.backend, &jail.Spec{}, record)
	launch, err := child.EncodeLaunch(record)
	if err != nil {
		return nil, nil, err
	}
	file, err := sealed.File("launch", launch)
	if err != nil {
		return nil, nil, err
	}
	undo.Add(file.Close)
	channel, theirs, err := spawn.NewChannel()
	if err != nil {
		return nil, nil, err
	}
	undo.Add(channel.Close)
	undo.Add(theirs.Close)
	cmd, err := p.backend.Command(&jail.Spec{OCI: probeSpec(user)}, jail.Staged{
		Mounts: plan.Mounts, Init: p.cfg.Init, Chan: theirs,
	})
	if err != nil {
		return nil, nil, err
	}
	process, err := p.cfg.Spawner.Start(cmd, spawn.Options{Cgroup: cgroup, Stage: func() error {
		return plan.Apply(p.cfg.StageDir, stage.Descriptors{Pts: pts.Mount()}, nil)
	}})
	if err != nil {
		return nil, nil, err
	}
	pidfd, err := channel.Ready(ctx)
	if err == nil {
		pidfd.Close()
		err = channel.Go(file, p.stdout)
	}
	if err == nil {
		err = channel.Result(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, errors.New(process.Complaint()))
	}
	return process, cmd.Status, nil
}

func systemLayout(dirs []policy.SystemDir) (out []stage.System) {
	for _, d := range dirs {
		out = append(out, stage.System{Path: d.Path, Source: d.Path, Link: d.Link})
	}
	return out
}

func probeSpec(user jail.User) *specs.Spec {
	return &specs.Spec{
		Version: specs.Version, Hostname: "omnijail",
		Process: &specs.Process{
			User: specs.User{UID: user.UID, GID: user.GID}, Args: []string{"cat"}, Cwd: "/",
			Capabilities: &specs.LinuxCapabilities{}, NoNewPrivileges: true,
		},
		Linux: &specs.Linux{Namespaces: []specs.LinuxNamespace{
			{Type: specs.MountNamespace}, {Type: specs.PIDNamespace}, {Type: specs.IPCNamespace},
			{Type: specs.UTSNamespace}, {Type: specs.CgroupNamespace}, {Type: specs.NetworkNamespace},
		}},
	}
}

// dropped holds a process's status against what every jailed command must be.
func dropped(status string) error {
	want := map[string]string{
		"CapInh": "0000000000000000", "CapPrm": "0000000000000000", "CapEff": "0000000000000000",
		"CapBnd": "0000000000000000", "CapAmb": "0000000000000000", "NoNewPrivs": "1", "Seccomp": "2",
	}
	for lines := bufio.NewScanner(strings.NewReader(status)); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimSpace(value)
		if w, ok := want[key]; ok {
			if value != w {
				return fmt.Errorf("a jailed command has %s %s instead of %s", key, value, w)
			}
			delete(want, key)
		}
		if key == "Uid" && value != fmt.Sprintf("%d\t%[1]d\t%[1]d\t%[1]d", probeID) {
			return fmt.Errorf("a jailed command runs as uid %s", value)
		}
	}
	if len(want) > 0 {
		return errors.New("the kernel did not say what privileges a jailed command has")
	}
	return nil
}
