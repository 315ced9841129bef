package stage

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// makeEmpty makes the file and the directory that masks are clones of, on the place
// that at is open on: what is attached nowhere cannot be cloned before Linux 6.15.
func makeEmpty(at int) (empty [2]int, err error) {
	fs, err := newTmpfs(0o555, 0, 0, 4096, quiet|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return empty, err
	}
	defer unix.Close(fs)
	allow := barForks()
	file, err := unix.Openat(fs, "file", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o444)
	unix.Close(file)
	allow()
	if err != nil {
		return empty, err
	}
	if err := unix.Mkdirat(fs, "dir", 0o555); err != nil {
		return empty, err
	}
	if err := restrict(fs, unix.MOUNT_ATTR_RDONLY); err != nil {
		return empty, err
	}
	if err := attach(fs, at); err != nil {
		return empty, err
	}
	for i, n := range [...]string{"file", "dir"} {
		if empty[i], err = beneath(fs, n, 0); err != nil {
			return empty, err
		}
	}
	return empty, nil
}

// lending is where a jail that has started has the empty file and directory for as
// long as masks are cloned of them: a directory of every jail that is root's and that
// no grant lies in.
const lending = "/run"

// lendEmpty is makeEmpty for a thread in such a jail's mount namespace. takeBack takes
// away what is mounted there; the descriptors are the caller's.
func lendEmpty() (empty [2]int, takeBack func() error, err error) {
	at, err := unix.Open(lending, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return empty, nil, &os.PathError{Op: "open", Path: lending, Err: err}
	}
	defer unix.Close(at)
	if empty, err = makeEmpty(at); err != nil {
		return empty, nil, err
	}
	return empty, func() error {
		if err := unix.Unmount(lending, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return fmt.Errorf("take the empty file system back: %w", err)
		}
		return nil
	}, nil
}
