package stage

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	quiet     = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	emptyPath = unix.AT_EMPTY_PATH
)

// newTmpfs returns a detached empty file system. attr are MOUNT_ATTR_* flags.
func newTmpfs(mode uint32, uid, gid uint32, size int64, attr int) (int, error) {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("new tmpfs: %w", err)
	}
	defer unix.Close(fs)
	options := [...][2]string{
		{"mode", strconv.FormatUint(uint64(mode), 8)},
		{"uid", strconv.FormatUint(uint64(uid), 10)},
		{"gid", strconv.FormatUint(uint64(gid), 10)},
		{"size", strconv.FormatInt(size, 10)},
	}
	for _, o := range options {
		if err := unix.FsconfigSetString(fs, o[0], o[1]); err != nil {
			return -1, fmt.Errorf("tmpfs option %s=%s: %w", o[0], o[1], err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, fmt.Errorf("new tmpfs: %w", err)
	}
	mnt, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attr)
	if err != nil {
		return -1, fmt.Errorf("mount tmpfs: %w", err)
	}
	return mnt, nil
}

// clone returns a detached copy of what is at fd, or at path below fd. A final
// link is not followed.
func clone(fd int, path string, flags uint) (int, error) {
	flags |= unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_SYMLINK_NOFOLLOW
	if path == "" {
		flags |= emptyPath
	}
	t, err := unix.OpenTree(fd, path, flags)
	if err != nil {
		return -1, fmt.Errorf("clone mount: %w", err)
	}
	return t, nil
}

// restrict adds attr to every mount of the tree at fd and takes the tree out of
// every propagation. What the source had (noexec, nosymfollow) stays.
func restrict(fd int, attr uint64) error {
	err := unix.MountSetattr(fd, "", emptyPath|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attr, Propagation: unix.MS_PRIVATE})
	if err != nil {
		return fmt.Errorf("restrict mount: %w", err)
	}
	return nil
}

// attach moves the detached tree onto the place that to is open on.
func attach(tree, to int) error {
	if err := unix.MoveMount(tree, "", to, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("attach mount: %w", err)
	}
	return nil
}

// beneath opens path below dir for mounting on it: no link, no way out, and what
// else of RESOLVE_* is asked for.
func beneath(dir int, path string, resolve uint64) (int, error) {
	fd, err := unix.Openat2(dir, path, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | resolve,
	})
	if err != nil {
		return -1, &os.PathError{Op: "find place", Path: path, Err: err}
	}
	return fd, nil
}
