package stage

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// Kept are the file systems that the commands of one jail share: its home, /tmp and
// /dev/shm. They are mounted nowhere; every Apply attaches clones. What is in them
// is the jail's to arrange, also while another command of it is being staged.
type Kept struct {
	mounts map[string]int
}

// Keep makes the file systems of l, empty. It is a *jail.UnsupportedError on a
// kernel that cannot clone a mount that is attached nowhere.
func Keep(l Layout) (_ *Kept, err error) {
	p := &planner{layout: l, made: map[string]bool{"/": true, "/dev": true}}
	if err := p.scratch(); err != nil {
		return nil, err
	}
	k := &Kept{mounts: map[string]int{}}
	defer func() {
		if err != nil {
			k.Close()
		}
	}()
	for _, s := range p.steps {
		if s.Op != OpTmpfs {
			continue
		}
		if k.mounts[s.Path], err = newTmpfs(bits(s.Mode), s.UID, s.GID, s.Size, quiet); err != nil {
			delete(k.mounts, s.Path)
			return nil, err
		}
	}
	probe, err := clone(k.mounts[l.Home], "", 0)
	if errors.Is(err, unix.EINVAL) {
		return nil, &jail.UnsupportedError{Feature: "a jail for several commands", Need: "Linux 6.15 or newer, to keep its files between them"}
	}
	if err == nil {
		unix.Close(probe)
	}
	return k, err
}

// Close drops the file systems with what is in them, unless a command has clones.
// It may be called again.
func (k *Kept) Close() error {
	for at, fd := range k.mounts {
		unix.Close(fd)
		delete(k.mounts, at)
	}
	return nil
}

// within returns the innermost kept file system that p lies in and is not itself,
// empty for none. A home may lie below /tmp.
func (k *Kept) within(p string) (in string) {
	if k == nil {
		return ""
	}
	for at := range k.mounts {
		if p != at && jail.Within(at, p) && len(at) > len(in) {
			in = at
		}
	}
	return in
}

// attachKept mounts a clone of what is kept for the step, if anything is.
func (s *staging) attachKept(step Step) (done bool, err error) {
	if s.shared == nil || s.shared.mounts[step.Path] == 0 {
		return false, nil
	}
	t, err := clone(s.shared.mounts[step.Path], "", 0)
	if err != nil {
		return true, err
	}
	s.tops[step.Path] = t
	return true, s.attachAt(step.Path, t)
}

// attachAt attaches a tree at the place p.
func (s *staging) attachAt(p string, tree int) error {
	place, err := s.place(p)
	if err != nil {
		return err
	}
	defer unix.Close(place)
	return attach(tree, place)
}

// makeKept makes the place of a grant in a kept file system, unless an earlier
// command had it made.
func (s *staging) makeKept(step Step) error {
	parent, err := s.find(s.shared.within(step.Path), path.Dir(step.Path))
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	name := path.Base(step.Path)
	if step.Op == OpDir {
		err = unix.Mkdirat(parent, name, bits(step.Mode))
	} else {
		err = unix.Mknodat(parent, name, unix.S_IFREG|bits(step.Mode), 0)
	}
	if errors.Is(err, unix.EEXIST) {
		return nil // attaching refuses a link, and a file in the place of a directory
	}
	if err != nil {
		return replaced(err)
	}
	return unix.Fchownat(parent, name, int(step.UID), int(step.GID), unix.AT_SYMLINK_NOFOLLOW)
}

// place opens p, which a step has made, for mounting on it.
func (s *staging) place(p string) (int, error) { return s.find(s.shared.within(p), p) }

// find opens p below the kept file system at, or below the root where at is empty.
// In a kept file system the jail may have put anything there: no link is followed,
// since what it leads to would be root's to touch, and no mount is crossed, since a
// grant that was attached before may have been moved into the way.
func (s *staging) find(at, p string) (int, error) {
	if at == "" {
		return beneath(s.root, strings.TrimPrefix(p, "/"), 0)
	}
	fd, err := beneath(s.tops[at], "."+strings.TrimPrefix(p, at), unix.RESOLVE_NO_XDEV)
	if err != nil {
		return -1, replaced(err)
	}
	return fd, nil
}

func replaced(err error) error { return fmt.Errorf("a command of the jail has replaced it: %w", err) }
