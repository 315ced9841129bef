package confine

import (
	"errors"
	"fmt"
	"path"

	"golang.org/x/sys/unix"
)

// visible are the node's directories in the cage: what a resolver reads. The
// second is where systemd's stub keeps the file that /etc/resolv.conf leads to.
var visible = []string{"/etc", "/run/systemd/resolve"}

// privateRoot makes the process's root a tmpfs of its own with nothing but the
// visible directories. The old root is detached, so that no descriptor-less way
// leads back; nothing is made or mounted in the daemon's namespace.
func privateRoot() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	root, err := newTmpfs()
	if err != nil {
		return err
	}
	defer unix.Close(root)
	// On top of the old root, which stays ours until the pivot.
	if err := unix.MoveMount(root, "", unix.AT_FDCWD, "/", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("attach tmpfs: %w", err)
	}
	for _, dir := range visible {
		if err := show(root, dir); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	if err := unix.Fchdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("detach the old root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	return unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

func newTmpfs() (int, error) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("tmpfs: %w", err)
	}
	defer unix.Close(fs)
	for key, value := range map[string]string{"mode": "0555", "size": "64k", "nr_inodes": "16"} {
		if err := unix.FsconfigSetString(fs, key, value); err != nil {
			return -1, fmt.Errorf("tmpfs %s: %w", key, err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, fmt.Errorf("tmpfs: %w", err)
	}
	root, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return -1, fmt.Errorf("tmpfs: %w", err)
	}
	return root, nil
}

// show binds the node's dir at the same place below root. What the node does not
// have is not there.
func show(root int, dir string) error {
	tree, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, attr); err != nil {
		return err
	}
	if err := makeParents(root, dir[1:]); err != nil {
		return err
	}
	return unix.MoveMount(tree, "", root, dir[1:], unix.MOVE_MOUNT_F_EMPTY_PATH)
}

func makeParents(root int, dir string) error {
	if dir == "." {
		return nil
	}
	if err := makeParents(root, path.Dir(dir)); err != nil {
		return err
	}
	if err := unix.Mkdirat(root, dir, 0o555); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	return nil
}
