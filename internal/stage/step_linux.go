package stage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// step takes one step below the jail's root. The plan never leads through a
// grant or a link, so names are resolved in file systems of ours only.
func (s *staging) step(step Step) error {
	at := strings.TrimPrefix(step.Path, "/")
	if s.shared.within(step.Path) != "" && (step.Op == OpDir || step.Op == OpFile) {
		return s.makeKept(step)
	}
	switch step.Op {
	case OpDir:
		if err := unix.Mkdirat(s.parent(step.Path), at, bits(step.Mode)); err != nil {
			return err
		}
		return s.own(step, at)
	case OpFile:
		return s.file(step, at)
	case OpLink:
		return unix.Symlinkat(step.Target, s.parent(step.Path), at)
	case OpTmpfs:
		return s.memory(step, at)
	case OpDevice:
		return s.device(step, at)
	case OpPts:
		return mountAt(s.root, at, s.pts)
	case OpBind:
		return s.bind(step, at)
	case OpCover:
		return s.cover(step, at)
	case OpGrant:
		return s.attachAt(step.Path, s.trees[step.Grant])
	case OpNest:
		return attach(s.trees[step.Grant], s.names[step.Outer][step.Name])
	case OpFrame:
		return s.frame(step)
	}
	return s.protect(step)
}

// memory mounts a file system of the jail's own, which other commands may have too.
func (s *staging) memory(step Step, at string) error {
	if done, err := s.attachKept(step); done {
		return err
	}
	t, err := newTmpfs(bits(step.Mode), step.UID, step.GID, step.Size, quiet)
	if err != nil {
		return err
	}
	if err := s.space.hold(step.Path, t); err != nil {
		unix.Close(t)
		return err
	}
	return mountAndClose(s.root, at, t)
}

func (s *staging) own(step Step, at string) error {
	if step.UID == 0 && step.GID == 0 {
		return nil
	}
	return unix.Fchownat(s.parent(step.Path), at, int(step.UID), int(step.GID), unix.AT_SYMLINK_NOFOLLOW)
}

func (s *staging) file(step Step, at string) error {
	defer barForks()()
	fd, err := unix.Openat(s.parent(step.Path), at, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, bits(step.Mode))
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for b := step.Data; len(b) > 0; {
		n, err := unix.Write(fd, b)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return s.own(step, at)
}

// barForks is called before a descriptor is opened for writing on a mount that is to
// be read-only later, and what it returns when the descriptor is closed. A child of
// another thread's would have it until its exec, and a mount that somebody may write
// to cannot be closed against writing.
func barForks() (allow func()) {
	firstChild()
	syscall.ForkLock.RLock()
	return syscall.ForkLock.RUnlock
}

// firstChild has package os make the one child that it makes without that lock: the
// first time that it starts or finds a process, to see whether pidfds work.
var firstChild = sync.OnceFunc(func() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		p.Release()
	}
})

// device binds a character device of the node that every program may use.
func (s *staging) device(step Step, at string) error {
	t, err := clone(unix.AT_FDCWD, step.Path, 0)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(t, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
		unix.Close(t)
		return fmt.Errorf("%s is not a character device on this node", step.Path)
	}
	if err := restrict(t, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC); err != nil {
		unix.Close(t)
		return err
	}
	return mountAndClose(s.root, at, t)
}

// bind binds a directory of the node, which must be root's.
func (s *staging) bind(step Step, at string) error {
	t, err := clone(unix.AT_FDCWD, step.Target, unix.AT_RECURSIVE)
	if err != nil {
		return &os.PathError{Op: "bind", Path: step.Target, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(t, &st); err != nil || st.Uid != 0 || st.Mode&0o022 != 0 {
		unix.Close(t)
		return fmt.Errorf("%s does not belong to root alone", step.Target)
	}
	if err := restrict(t, quiet|unix.MOUNT_ATTR_RDONLY); err != nil {
		unix.Close(t)
		return err
	}
	return mountAndClose(s.root, at, t)
}

// cover binds a composed file over one of the node's. The directories around that
// are root's; a package may have taken it away since it was found.
func (s *staging) cover(step Step, at string) error {
	target, err := beneath(s.root, at, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(target)
	var st unix.Stat_t
	if err := unix.Fstat(target, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return err
	}
	source, err := beneath(s.root, strings.TrimPrefix(step.Target, "/"), 0)
	if err != nil {
		return err
	}
	defer unix.Close(source)
	t, err := clone(source, "", 0)
	if err != nil {
		return err
	}
	defer unix.Close(t)
	if err := restrict(t, quiet|unix.MOUNT_ATTR_RDONLY); err != nil {
		return err
	}
	return attach(t, target)
}

// protect acts on the descriptor that the scout resolved. For the kernel it is a
// place on the tree's mount, which by now is attached.
func (s *staging) protect(step Step) error {
	target := s.names[step.Grant][step.Name]
	if step.Op == OpHide {
		if target < 0 {
			return nil // gone since the scan; there is nothing to hide
		}
		source := s.empty[0]
		if step.Dir {
			source = s.empty[1]
		}
		t, err := clone(source, "", 0)
		if err != nil {
			return err
		}
		defer unix.Close(t)
		return attach(t, target)
	}
	if target < 0 {
		return fmt.Errorf("%s has gone", step.Path)
	}
	for i, l := range s.plan.grants[step.Grant].layers {
		if l.Name == step.Name {
			return attach(s.layers[step.Grant][i], target)
		}
	}
	t, err := clone(target, "", unix.AT_RECURSIVE)
	if err != nil {
		return err
	}
	defer unix.Close(t)
	attr := uint64(quiet)
	if step.Op == OpPin {
		attr |= unix.MOUNT_ATTR_RDONLY
	}
	if err := restrict(t, attr); err != nil {
		return err
	}
	return attach(t, target)
}

// bits turns a mode into the kernel's form.
func bits(m fs.FileMode) uint32 {
	b := uint32(m.Perm())
	if m&fs.ModeSticky != 0 {
		b |= unix.S_ISVTX
	}
	return b
}
