package stage

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// Kept are the file systems that the commands of one jail share: its home, /tmp and
// /dev/shm. Every Apply attaches clones of them. What is in them is the jail's to
// arrange, also while another command of it is being staged.
//
// They are held by the mount namespace where they have settled and by no descriptor:
// a process with a thousand idle jails is copied at every fork.
type Kept struct {
	fresh []Step   // not made yet
	at    []string // where a jail has them; the index is their name in the namespace
}

// Keep plans the file systems of l, which are empty.
func Keep(l Layout) (*Kept, error) {
	p := &planner{layout: l, made: map[string]bool{"/": true, "/dev": true}}
	if err := errors.Join(p.shared(), p.home()); err != nil {
		return nil, err
	}
	k := &Kept{}
	for _, s := range p.steps {
		if s.Op == OpTmpfs {
			k.fresh, k.at = append(k.fresh, s), append(k.at, s.Path)
		}
	}
	return k, nil
}

// Settle makes them in the calling thread's mount namespace and drops everything
// else from it. dir is a root-owned directory, used as a place for a moment. It is
// called once.
func (k *Kept) Settle(dir string) error {
	root, err := newTmpfs(0o755, 0, 0, 1<<20, quiet)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	place, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(place)
	if err := attach(root, place); err != nil {
		return err
	}
	for i, s := range k.fresh {
		if err := unix.Mkdirat(root, strconv.Itoa(i), 0o755); err != nil {
			return err
		}
		fd, err := newTmpfs(bits(s.Mode), s.UID, s.GID, s.Size, quiet)
		if err != nil {
			return err
		}
		if err := mountAndClose(root, strconv.Itoa(i), fd); err != nil {
			return err
		}
	}
	k.fresh = nil
	return stay(root)
}

// Clones are the kept file systems of one Apply.
type Clones struct {
	mounts map[string]int
}

// Clone puts clones into c. It runs in the namespace where they have settled.
func (k *Kept) Clone(c *Clones) error {
	c.mounts = map[string]int{}
	for i, at := range k.at {
		t, err := clone(unix.AT_FDCWD, "/"+strconv.Itoa(i), 0)
		if err != nil {
			return err
		}
		c.mounts[at] = t
	}
	return nil
}

// Close drops the clones unless they are attached. It may be called again.
func (c *Clones) Close() error {
	for at, fd := range c.mounts {
		unix.Close(fd)
		delete(c.mounts, at)
	}
	return nil
}

// within returns the innermost kept file system that p lies in and is not itself,
// empty for none. A home may lie below /tmp.
func (k *Clones) within(p string) (in string) {
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

// attachKept attaches what is kept for the step, if anything is.
func (s *staging) attachKept(step Step) (done bool, err error) {
	if s.shared == nil || s.shared.mounts[step.Path] == 0 {
		return false, nil
	}
	t := s.shared.mounts[step.Path]
	if err := s.space.hold(step.Path, t); err != nil {
		return true, err
	}
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
	fd, err := beneath(s.shared.mounts[at], "."+strings.TrimPrefix(p, at), unix.RESOLVE_NO_XDEV)
	if err != nil {
		return -1, replaced(err)
	}
	return fd, nil
}

func replaced(err error) error { return fmt.Errorf("a command of the jail has replaced it: %w", err) }
