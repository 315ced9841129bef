package reaper

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

const quiet = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC

// files puts a /proc of this namespace into the staged tree and makes the tree
// the root. Every name lies in file systems of ours and of the kernel's.
func (o Order) files() error {
	root, err := unix.Open(o.Root, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: o.Root, Err: err}
	}
	defer unix.Close(root)
	proc, err := newProc()
	if err != nil {
		return fmt.Errorf("fresh /proc: %w", err)
	}
	if err := attach(proc, root, "/proc"); err != nil {
		return err
	}
	for _, p := range o.ReadOnly {
		if err := closeAgainstWriting(root, p); err != nil {
			return err
		}
	}
	for _, c := range o.Covers {
		t, err := unix.OpenTree(unix.AT_FDCWD, c.Source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return &os.PathError{Op: "clone", Path: c.Source, Err: err}
		}
		if err := attach(t, root, c.Dest); err != nil {
			return err
		}
	}
	return enter(root)
}

func newProc() (int, error) {
	fs, err := unix.Fsopen("proc", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, quiet)
}

// attach mounts tree at a path of the jail and closes it.
func attach(tree, root int, at string) error {
	defer unix.Close(tree)
	if err := unix.MoveMount(tree, "", root, at[1:], unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return &os.PathError{Op: "mount", Path: at, Err: err}
	}
	return nil
}

// closeAgainstWriting binds p onto itself. What does not exist needs no
// protection.
func closeAgainstWriting(root int, p string) error {
	t, err := unix.OpenTree(root, p[1:], unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "clone", Path: p, Err: err}
	}
	attr := &unix.MountAttr{Attr_set: quiet | unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(t, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, attr); err != nil {
		unix.Close(t)
		return &os.PathError{Op: "close against writing", Path: p, Err: err}
	}
	return attach(t, root, p)
}

// enter makes root the namespace's root and drops what was there.
func enter(root int) error {
	if err := unix.Fchdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot: %w", err)
	}
	// The old root now lies over the new one.
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the staging: %w", err)
	}
	return unix.Chdir("/")
}
