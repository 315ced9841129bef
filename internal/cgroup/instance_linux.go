package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Instance is the subtree of one daemon. Two daemons on a node have different
// identifiers.
type Instance struct {
	h    *Hierarchy
	id   string
	path string            // of the subtree, as /proc/PID/cgroup would say it
	v1   map[string]string // controller to directory, for limits that v2 does not offer
}

// Instance makes the subtree of the daemon called id, which is lower-case
// letters, digits and hyphens, at most 64. A subtree that exists is taken
// over: the caller holds the lock that makes it the only one, and has swept.
func (h *Hierarchy) Instance(id string) (*Instance, error) {
	if err := checkName(id); err != nil {
		return nil, err
	}
	i := &Instance{h: h, id: id, path: path.Join(h.parent(), prefix+id), v1: map[string]string{}}
	if err := makeDir(h.main.dir(i.path)); err != nil {
		return nil, fmt.Errorf("make cgroup of this daemon: %w", err)
	}
	if h.main.v2 {
		// What cannot be enabled is found missing when a limit asks for it.
		i.enable()
	}
	for c, t := range h.extra {
		if i.has(c) {
			continue
		}
		dir := filepath.Join(t.point, prefix+id)
		if err := makeDir(dir); err != nil {
			return nil, fmt.Errorf("make cgroup of this daemon for %s: %w", c, err)
		}
		i.v1[c] = dir
	}
	return i, nil
}

const prefix = "omnijail-"

// checkName accepts what can be a cgroup of ours: nothing that is a path, and
// nothing with a dot or an underscore, as the kernel's and systemd's names have.
func checkName(name string) error {
	const allowed = "abcdefghijklmnopqrstuvwxyz0123456789-"
	if name == "" || len(name) > 64 || strings.Trim(name, allowed) != "" || name[0] == '-' {
		return fmt.Errorf("not a cgroup name: %.80q", name)
	}
	return nil
}

func makeDir(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// enable hands the controllers that limits need down to the leaves. In a
// delegated cgroup the daemon moves out of the way first; a cgroup that is not
// ours is left as it is.
func (i *Instance) enable() error {
	var want []string
	for _, c := range i.h.offered(i.h.parent()) {
		if slices.Contains(limiters, c) {
			want = append(want, "+"+c)
		}
	}
	if len(want) == 0 {
		return nil
	}
	if p, ok := i.h.delegated(); ok {
		if err := i.h.moveToLeaf(p); err != nil {
			return err
		}
		if err := i.h.control(p, want); err != nil {
			return err
		}
	}
	return i.h.control(i.path, want)
}

// control enables each controller by itself: one that the kernel refuses here must
// not cost the others.
func (h *Hierarchy) control(p string, want []string) error {
	var errs []error
	for _, c := range want {
		errs = append(errs, write(filepath.Join(h.main.dir(p), "cgroup.subtree_control"), c))
	}
	return errors.Join(errs...)
}

// moveToLeaf takes this process out of the delegated cgroup p.
func (h *Hierarchy) moveToLeaf(p string) error {
	if h.main.self != p {
		return nil
	}
	leaf := path.Join(p, daemonLeaf)
	if err := makeDir(h.main.dir(leaf)); err != nil {
		return err
	}
	if err := write(filepath.Join(h.main.dir(leaf), "cgroup.procs"), strconv.Itoa(os.Getpid())); err != nil {
		return err
	}
	h.main.self = leaf
	return nil
}

// InPlace reports whether a limit by this controller is set in the cgroup that a
// command is started in. Otherwise it is set in a v1 hierarchy, which the starting
// thread enters and leaves: the kernel makes both wait for a grace period of RCU,
// 4 to 10 ms.
func (i *Instance) InPlace(controller string) bool { return i.has(controller) }

// has reports whether leaves of the instance have a v2 controller.
func (i *Instance) has(controller string) bool {
	if !i.h.main.v2 {
		return false
	}
	text, err := os.ReadFile(filepath.Join(i.h.main.dir(i.path), "cgroup.subtree_control"))
	return err == nil && slices.Contains(strings.Fields(string(text)), controller)
}

// Contains reports whether the cgroup path p, from Of, is one of this instance's:
// whether its process is a jail's, a scout's or an egress process.
func (i *Instance) Contains(p string) bool { return below(path.Clean(p), i.path) }

// New makes the group called name, which must not exist yet. The name has the
// form that Instance asks for. The caller kills and removes it.
func (i *Instance) New(name string) (*Group, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	return (&Group{tree: i.h.main, path: path.Join(i.path, name), instance: i, name: name}).make()
}

// Child makes the group called name inside g: one of several that share g's limits
// and end with g, and each of which can be killed alone. The caller kills and
// removes it.
func (g *Group) Child(name string) (*Group, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	return (&Group{tree: g.tree, path: path.Join(g.path, name), instance: g.instance, around: g, name: name}).make()
}

func (g *Group) make() (*Group, error) {
	dir := g.tree.dir(g.path)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make cgroup: %w", err)
	}
	g.dirs = []string{dir}
	if !g.tree.v2 {
		return g, nil
	}
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open cgroup: %w", err), g.Remove())
	}
	g.fd = f
	return g, nil
}

// write writes to a cgroup file, which must exist.
func write(file, value string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}
