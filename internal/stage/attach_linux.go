package stage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// Made is the part of a jail's file system that a backend has started with, before
// anybody knew whose jail it would be. It serves one Attach.
type Made struct {
	steps  map[stepKey]Step
	mounts []jail.StagedMount
}

// Base returns the plan of a file system without a home and without grants: what
// every jail has that is composed of the same parts of the node.
func Base(l Layout) (Plan, error) {
	p := &planner{layout: l, made: map[string]bool{"/": true}}
	for _, f := range []func() error{p.system, p.composed, p.devices, p.shared} {
		if err := f(); err != nil {
			return Plan{}, err
		}
	}
	mounts, err := p.mounts()
	return Plan{Steps: p.steps, Mounts: mounts}, err
}

// Made returns what a jail that was staged by p has.
func (p Plan) Made() Made {
	m := Made{map[stepKey]Step{}, p.Mounts}
	for _, s := range p.Steps {
		m.steps[s.key()] = s
	}
	return m
}

// Fits reports whether everything of m is in p just so, and whether what m lacks
// can be added from inside: the node's own directories and devices cannot, nor can
// anything be made in them.
func (p Plan) Fits(m Made) bool {
	if !slices.Equal(p.Mounts, m.mounts) {
		return false
	}
	found := 0
	for _, s := range p.Steps {
		has, ok := m.steps[s.key()]
		switch {
		case ok && same(has, s):
			found++
		case ok, s.Op == OpBind, s.Op == OpDevice, s.Op == OpPts:
			return false
		case s.makes() && m.bound(s.Path):
			return false
		}
	}
	return found == len(m.steps)
}

// bound reports whether p lies in a directory of the node's.
func (m Made) bound(p string) bool {
	for _, s := range m.steps {
		if s.Op == OpBind && jail.Within(s.Path, p) {
			return true
		}
	}
	return false
}

// Attach takes the steps of the plan that a jail lacks which has started with m.
// Nothing of the caller's may have run in the jail. Enter runs a function on a
// thread in the jail's mount namespace.
//
// After an error the jail is half made and must be thrown away.
func (p Plan) Attach(m Made, enter func(func() error) error, d Descriptors, grants []jail.OpenGrant) error {
	if !p.Fits(m) {
		return errors.New("attach: the jail was made for another layout")
	}
	// The jail's own /proc does not know the thread.
	proc, err := unix.Open("/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: "/proc", Err: err}
	}
	defer unix.Close(proc)
	return enter(func() error {
		if err := p.attach(m, proc, d, grants); err != nil {
			return fmt.Errorf("attach: %w", err)
		}
		return nil
	})
}

func (p Plan) attach(m Made, proc int, d Descriptors, grants []jail.OpenGrant) (err error) {
	s := &staging{plan: p, root: -1, bare: -1}
	if err := s.take(d); err != nil {
		return err
	}
	if s.root, err = unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	defer s.close()
	if err := s.open(); err != nil {
		return err
	}
	takeBack := func() error { return nil }
	for _, step := range p.Steps {
		if _, has := m.steps[step.key()]; has {
			continue
		}
		if step.Op == OpHide && s.empty[0] == 0 { // all that is in /run is there by now
			if s.empty, takeBack, err = lendEmpty(); err != nil {
				return err
			}
		}
		if err := s.step(step); err != nil {
			return fmt.Errorf("%s: %w", step, err)
		}
	}
	if err := takeBack(); err != nil {
		return err
	}
	return check(proc, "/", grants)
}

// open gets the jail's root once more, for writing, beside all mounts. The mount
// that the jail has stays closed.
func (s *staging) open() (err error) {
	if s.bare, err = clone(s.root, "", 0); err != nil {
		return err
	}
	if err := unix.MountSetattr(s.bare, "", emptyPath, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("open root for writing: %w", err)
	}
	return nil
}

// parent is where the directories and files of a path are made: in the jail's root
// as it is open for writing, or in what is mounted there.
func (s *staging) parent(p string) int {
	if s.bare < 0 {
		return s.root
	}
	for _, o := range s.plan.Steps {
		if o.Op == OpTmpfs && o.Path != p && jail.Within(o.Path, p) {
			return s.root
		}
	}
	return s.bare
}

// check reads the calling thread's table of mounts and inspects what is below root.
func check(proc int, root string, grants []jail.OpenGrant) error {
	fd, err := unix.Openat(proc, "thread-self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: "/proc/thread-self/mountinfo", Err: err}
	}
	f := os.NewFile(uintptr(fd), "mountinfo")
	defer f.Close()
	table, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	mounts, err := parseMountinfo(table)
	if err != nil {
		return err
	}
	return inspect(mounts, strings.TrimSuffix(root, "/"), grants)
}
