package stage

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
)

// Plan is the way to one jail's file system.
type Plan struct {
	Steps  []Step
	Mounts []jail.StagedMount // what the backend binds, in order
	grants []tree
}

// tree is what a grant needs descriptors for.
type tree struct {
	names  []name
	layers []child.Layer
	in     []int // per name, which layer it lies in
}

// Where things are once the steps are taken, in the staging namespace.
const (
	stagedRoot = "/root"
	emptyFile  = "/empty/file"
	emptyDir   = "/empty/dir"
)

const world fs.FileMode = 0o755

var (
	devices  = []string{"full", "null", "random", "tty", "urandom", "zero"}
	devLinks = []Link{
		{"/dev/fd", "/proc/self/fd"}, {"/dev/stdin", "/proc/self/fd/0"}, {"/dev/stdout", "/proc/self/fd/1"},
		{"/dev/stderr", "/proc/self/fd/2"}, {"/dev/ptmx", "pts/ptmx"},
	}
)

// planner collects steps and remembers which directories exist.
type planner struct {
	layout Layout
	steps  []Step
	made   map[string]bool // directories of ours
	nested map[int][]int   // the grants mounted inside each grant
	framed map[framing][]Inner
}

// NewPlan returns the steps to l, or says which grant cannot be placed.
func NewPlan(l Layout) (Plan, error) {
	p := &planner{layout: l, made: map[string]bool{"/": true}, nested: map[int][]int{}, framed: map[framing][]Inner{}}
	for _, f := range []func() error{p.system, p.composed, p.devices, p.shared, p.home, p.grants} {
		if err := f(); err != nil {
			return Plan{}, err
		}
	}
	out := Plan{Steps: p.steps}
	for _, g := range l.Grants {
		t := tree{names: names(g)}
		t.layers, t.in = g.Layers()
		out.grants = append(out.grants, t)
	}
	var err error
	out.Mounts, err = p.mounts()
	return out, err
}

// mounts is what the backend binds: the root, and the masks below its own /proc.
func (p *planner) mounts() ([]jail.StagedMount, error) {
	out := []jail.StagedMount{{Source: stagedRoot, Dest: "/", Dir: true}}
	for _, m := range p.layout.Masks {
		if path.Clean(m.Path) != m.Path || !jail.Within("/proc", m.Path) || m.Path == "/proc" {
			return nil, fmt.Errorf("%s cannot be masked: it does not lie below /proc", m.Path)
		}
		source := emptyFile
		if m.Dir {
			source = emptyDir
		}
		out = append(out, jail.StagedMount{Source: source, Dest: m.Path, Dir: m.Dir, ReadOnly: true})
	}
	return out, nil
}

// Sources are what the plan clones of the node's own tree, by path.
func (p Plan) Sources() (paths []string) {
	for _, s := range p.Steps {
		switch s.Op {
		case OpBind:
			paths = append(paths, s.Target)
		case OpDevice:
			paths = append(paths, s.Path)
		}
	}
	return paths
}

func (p *planner) add(s Step) { p.steps = append(p.steps, s) }

// dir makes d and its missing parents, in the home as the user's.
func (p *planner) dir(d string) {
	if p.made[d] {
		return
	}
	p.dir(path.Dir(d))
	p.made[d] = true
	p.add(p.owned(Step{Op: OpDir, Path: d, Mode: world}))
}

func (p *planner) owned(s Step) Step {
	if s.Path != p.layout.Home && jail.Within(p.layout.Home, s.Path) {
		s.UID, s.GID = p.layout.User.UID, p.layout.User.GID
	}
	return s
}

func (p *planner) system() error {
	p.dir("/proc")
	p.dir("/run")
	for _, s := range p.layout.System {
		if s.Path == "/" || !path.IsAbs(s.Path) || path.Clean(s.Path) != s.Path {
			return fmt.Errorf("%q is no place for a system directory", s.Path)
		}
		if s.Link != "" {
			p.dir(path.Dir(s.Path))
			p.add(Step{Op: OpLink, Path: s.Path, Target: s.Link})
			continue
		}
		p.dir(s.Path)
		p.add(Step{Op: OpBind, Path: s.Path, Target: s.Source})
	}
	return nil
}

func (p *planner) composed() error {
	inside := func(what string) error {
		if path.Clean(what) == what && (jail.Within("/etc", what) || jail.Within("/run/omnijail", what)) {
			return nil
		}
		return fmt.Errorf("%q is not part of a composed tree", what)
	}
	for _, f := range p.layout.Files {
		if err := inside(f.Path); err != nil {
			return err
		}
		p.dir(path.Dir(f.Path))
		p.add(Step{Op: OpFile, Path: f.Path, Data: f.Data, Mode: f.Mode.Perm()})
	}
	for _, l := range p.layout.Links {
		if err := inside(l.Path); err != nil {
			return err
		}
		p.dir(path.Dir(l.Path))
		p.add(Step{Op: OpLink, Path: l.Path, Target: l.Target})
	}
	for _, b := range p.layout.Binds {
		if err := inside(b.Path); err != nil {
			return err
		}
		p.dir(b.Path)
		p.add(Step{Op: OpBind, Path: b.Path, Target: b.Source})
	}
	return p.covers()
}

// covers comes after what is to be covered, and after what covers it.
func (p *planner) covers() error {
	for _, c := range p.layout.Covers {
		of := func(s System) bool { return s.Link == "" && s.Path != c.Path && jail.Within(s.Path, c.Path) }
		if path.Clean(c.Path) != c.Path || !slices.ContainsFunc(p.layout.System, of) {
			return fmt.Errorf("%q is no file of a system directory", c.Path)
		}
		if !slices.ContainsFunc(p.layout.Files, func(f File) bool { return f.Path == c.File }) {
			return fmt.Errorf("%q is no composed file", c.File)
		}
		p.add(Step{Op: OpCover, Path: c.Path, Target: c.File})
	}
	return nil
}

func (p *planner) devices() error {
	p.dir("/dev")
	for _, d := range devices {
		p.add(Step{Op: OpFile, Path: "/dev/" + d, Mode: 0o444})
		p.add(Step{Op: OpDevice, Path: "/dev/" + d})
	}
	for _, l := range devLinks {
		p.add(Step{Op: OpLink, Path: l.Path, Target: l.Target})
	}
	p.dir("/dev/pts")
	p.add(Step{Op: OpPts, Path: "/dev/pts"})
	return nil
}

// shared makes what any command may write without a grant, home the user's own.
func (p *planner) shared() error {
	const anyone = 0o777 | fs.ModeSticky
	return errors.Join(
		p.tmpfs(Step{Path: "/tmp", Size: p.layout.Tmp, Mode: anyone}),
		p.tmpfs(Step{Path: "/dev/shm", Size: p.layout.Shm, Mode: anyone}),
	)
}

func (p *planner) home() error {
	l := &p.layout
	if err := jail.CheckDest(l.Home, "", nil); err != nil {
		return fmt.Errorf("no scratch home: %w", err)
	}
	return p.tmpfs(Step{Path: l.Home, Size: l.Scratch, Mode: 0o700, UID: l.User.UID, GID: l.User.GID})
}

func (p *planner) tmpfs(t Step) error {
	if t.Size == 0 {
		t.Size = defaultSize(t.Path)
	}
	if t.Size < 0 {
		return fmt.Errorf("%s cannot have a size of %d bytes", t.Path, t.Size)
	}
	p.dir(t.Path)
	t.Op = OpTmpfs
	p.add(t)
	return nil
}

func defaultSize(path string) int64 {
	switch path {
	case "/tmp":
		return DefaultTmp
	case "/dev/shm":
		return DefaultShm
	}
	return DefaultScratch
}
