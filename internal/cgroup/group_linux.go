package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Group is the cgroup of one command.
type Group struct {
	tree     *tree
	instance *Instance
	around   *Group // which has the limits; nil for a group of its own
	name     string
	path     string
	fd       *os.File
	dirs     []string // every directory made for it, the main one first
}

// Dir returns the group's directory for SysProcAttr.CgroupFD, nil where there is
// no v2. The group owns it.
func (g *Group) Dir() *os.File { return g.fd }

// CloseDir closes Dir. From then on processes are started in the group's children
// alone.
func (g *Group) CloseDir() {
	if g.fd != nil {
		g.fd.Close()
	}
}

// Path returns the group as Of would.
func (g *Group) Path() string { return g.path }

// Enter moves the calling thread into what the group is in v1 hierarchies, so
// that a process forked from it starts there; leave moves it back. The caller
// holds runtime.LockOSThread from before Enter until after leave, and sets limits
// before. Where v2 does everything both do nothing. After an error of leave the
// thread must end: it is left in the group.
func (g *Group) Enter() (leave func() error, err error) {
	places := g.v1()
	if len(places) == 0 {
		return func() error { return nil }, nil
	}
	tid := strconv.Itoa(unix.Gettid())
	text, err := os.ReadFile("/proc/thread-self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("enter cgroup: %w", err)
	}
	home := parseMembership(string(text))
	var back []string
	leave = func() error {
		var errs []error
		for _, dir := range back {
			errs = append(errs, write(filepath.Join(dir, "tasks"), tid))
		}
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("leave cgroup: %w", err)
		}
		return nil
	}
	for _, m := range places {
		if err := write(filepath.Join(m.dir, "tasks"), tid); err != nil {
			return nil, errors.Join(fmt.Errorf("enter cgroup: %w", err), leave())
		}
		back = append(back, m.tree.dir(home[m.tree.key()]))
	}
	return leave, nil
}

// v1Place is what a group is in one v1 hierarchy.
type v1Place struct {
	tree *tree
	dir  string
}

func (g *Group) v1() []v1Place {
	var places []v1Place
	if !g.tree.v2 {
		places = append(places, v1Place{g.tree, g.dirs[0]})
	}
	holder := g
	if g.around != nil {
		holder = g.around
	}
	for c, dir := range g.instance.v1 {
		leaf := filepath.Join(dir, holder.name)
		if slices.Contains(holder.dirs, leaf) {
			places = append(places, v1Place{g.instance.h.extra[c], leaf})
		}
	}
	return places
}

// Remove removes the group, whose processes must be gone: kill and wait first. It
// may be called again.
func (g *Group) Remove() error {
	g.CloseDir()
	var errs []error
	for _, dir := range g.dirs {
		errs = append(errs, removeTree(dir, maxDepth))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove cgroup: %w", err)
	}
	return nil
}

// maxDepth bounds walks through cgroups below ours. A jail can make none.
const maxDepth = 8

// removeTree removes a cgroup and those below it.
func removeTree(dir string, depth int) error {
	err := unix.Rmdir(dir)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if depth == 0 {
		return &os.PathError{Op: "rmdir", Path: dir, Err: err}
	}
	children, _ := filepath.Glob(filepath.Join(dir, "*", "cgroup.procs"))
	for _, c := range children {
		if err := removeTree(filepath.Dir(c), depth-1); err != nil {
			return err
		}
	}
	if err := unix.Rmdir(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return &os.PathError{Op: "rmdir", Path: dir, Err: err}
	}
	return nil
}
