package stage

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// Descriptors are what a Plan's steps refer to by index. They stay the caller's.
type Descriptors struct {
	Trees  []*os.File   // per grant, from CloneTree
	Layers [][]*os.File // per grant and layer of it, from CloneTree
	Names  [][]*os.File // per grant and name; nil for a masked name that has gone
	Pts    *os.File     // a detached devpts
	Root   *Root        // made ahead of time, used up; nil for none
	Kept   *Clones      // of the jail's other commands; nil for new file systems
	Space  *Space       // gets what the jail writes to in memory; nil where nobody asks
}

// staging is an Apply under way. All of it runs on one thread.
type staging struct {
	plan   Plan
	trees  []int
	layers [][]int
	names  [][]int
	pts    int
	root   int // the jail's root, attached
	bare   int // the same beside all mounts and open for writing; -1 where root is
	ahead  *Root
	shared *Clones
	space  *Space
	empty  [2]int
}

// Apply takes the plan's steps. It runs on a thread in a mount namespace of its
// own whose mounts are slaves of the node's, and leaves that namespace with the
// staged root as its root. dir is a root-owned directory of the node, used as a
// place to mount on for a moment.
//
// After an error the namespace is half built and must be thrown away.
func (p Plan) Apply(dir string, d Descriptors, grants []jail.OpenGrant) error {
	s := &staging{plan: p, bare: -1}
	if err := s.take(d); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	outer, err := s.base(dir)
	if err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	defer s.close()
	for _, step := range p.Steps {
		if s.ahead.has(step) {
			continue
		}
		if err := s.step(step); err != nil {
			return fmt.Errorf("stage %s: %w", step, err)
		}
	}
	if err := s.finish(outer, grants); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	return nil
}

// take turns files into numbers and checks them against the plan.
func (s *staging) take(d Descriptors) error {
	if n := len(s.plan.grants); len(d.Trees) != n || len(d.Names) != n || len(d.Layers) != n {
		return errors.New("not one tree and one list of names and layers for each grant")
	}
	if d.Pts == nil {
		return errors.New("no devpts")
	}
	s.pts = number(d.Pts)
	if d.Root != nil && !d.Root.fits(s.plan.Steps) {
		return errors.New("the prepared root is for another layout")
	}
	s.ahead, s.shared, s.space = d.Root, d.Kept, d.Space
	for i, t := range d.Trees {
		if g := s.plan.grants[i]; t == nil || len(d.Names[i]) != len(g.names) || len(d.Layers[i]) != len(g.layers) {
			return errors.New("a tree, a layer or a name of a grant is missing")
		}
		s.trees = append(s.trees, number(t))
		s.layers = append(s.layers, numbers(d.Layers[i]))
		s.names = append(s.names, numbers(d.Names[i]))
	}
	return s.checkNames()
}

// checkNames refuses a descriptor that does not lie on the mount of its layer or
// tree: a scout that lies could otherwise have root cover or bind anything it can
// open.
func (s *staging) checkNames() error {
	for i, fds := range s.names {
		if len(fds) == 0 {
			continue
		}
		mounts := make([]uint64, 0, 1+len(s.layers[i])) // the tree's, then the layers'
		for _, fd := range append([]int{s.trees[i]}, s.layers[i]...) {
			id, err := mountID(fd)
			if err != nil {
				return err
			}
			mounts = append(mounts, id)
		}
		for n, fd := range fds {
			if fd < 0 {
				continue
			}
			if got, err := mountID(fd); err != nil || got != mounts[1+s.plan.grants[i].in[n]] {
				return fmt.Errorf("a name of grant %d does not lie on its tree", i)
			}
		}
	}
	return nil
}

func numbers(files []*os.File) (fds []int) {
	for _, f := range files {
		fds = append(fds, number(f))
	}
	return fds
}

// number is the descriptor of f, -1 for none. Fd would change the mode of a
// description that others share; these are O_PATH or mounts, which have none.
func number(f *os.File) int {
	if f == nil {
		return -1
	}
	return int(f.Fd())
}

// base mounts the outer root on dir, with a place for each thing, and the jail's
// root in it. The outer root is what the namespace keeps: the backend's own
// libraries come from the jail's system directories through links.
func (s *staging) base(dir string) (outer int, err error) {
	outer, err = newTmpfs(0o755, 0, 0, 1<<20, quiet)
	if err != nil {
		return -1, err
	}
	place, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(place)
	if err := attach(outer, place); err != nil {
		return -1, err
	}
	for _, d := range []string{"proc", "tmp", "root", "empty"} {
		if err := unix.Mkdirat(outer, d, 0o755); err != nil {
			return -1, err
		}
	}
	proc, err := clone(unix.AT_FDCWD, "/proc", 0)
	if err != nil {
		return -1, err
	}
	if err := mountAndClose(outer, "proc", proc); err != nil {
		return -1, err
	}
	at, err := beneath(outer, "empty", 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(at)
	if s.empty, err = makeEmpty(at); err != nil {
		return -1, err
	}
	if s.ahead != nil {
		s.root = s.ahead.mount
	} else if s.root, err = newTmpfs(0o755, 0, 0, rootSize, quiet); err != nil {
		return -1, err
	}
	return outer, mountAt(outer, "root", s.root)
}

// mountAndClose is mountAt for a tree that is needed no more.
func mountAndClose(dir int, path string, tree int) error {
	defer unix.Close(tree)
	return mountAt(dir, path, tree)
}

// mountAt attaches tree at path below dir.
func mountAt(dir int, path string, tree int) error {
	at, err := beneath(dir, path, 0)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	return attach(tree, at)
}

// finish closes the root against writing, makes the outer root the namespace's
// own and drops the node's mounts from it.
func (s *staging) finish(outer int, grants []jail.OpenGrant) error {
	defer unix.Close(outer)
	err := unix.MountSetattr(s.root, "", emptyPath, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	if err != nil {
		return fmt.Errorf("close root against writing: %w", err)
	}
	for _, step := range s.plan.Steps {
		top := strings.TrimPrefix(step.Path, "/")
		if (step.Op != OpBind && step.Op != OpLink) || strings.Contains(top, "/") {
			continue
		}
		if err := unix.Symlinkat("root/"+top, outer, top); err != nil {
			return &os.LinkError{Op: "symlink", Old: "root/" + top, New: top, Err: err}
		}
	}
	if err := stay(outer); err != nil {
		return err
	}
	proc, err := unix.Open("/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(proc)
	return check(proc, stagedRoot, grants)
}

// stay makes root, which is attached, the namespace's own and drops all other mounts.
func stay(root int) error {
	if err := unix.Fchdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot into the staged root: %w", err)
	}
	// The old root now lies over the new one.
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the node's mounts: %w", err)
	}
	return unix.Chdir("/")
}

func (s *staging) close() {
	fds := append(s.empty[:], s.bare)
	if s.ahead == nil { // else its owner's
		fds = append(fds, s.root)
	}
	for _, fd := range fds {
		if fd > 0 {
			unix.Close(fd)
		}
	}
}
