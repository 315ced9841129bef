package stage

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// CloneTree returns a detached copy of the mounts at and below the place that f
// (opened with O_PATH by the scout) is open on: nosuid, nodev, apart from every
// propagation, and read-only unless write is set. The flags of the source stay.
//
// It never asks the file system, which may be the caller's own and never answer.
// It fails with EINVAL when f was opened in another mount namespace.
func CloneTree(f *os.File, write bool) (*os.File, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	tree := -1
	var failed error
	err = conn.Control(func(fd uintptr) { tree, failed = cloneTree(int(fd), write) })
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(tree), f.Name()), nil
}

func cloneTree(fd int, write bool) (int, error) {
	tree, err := clone(fd, "", unix.AT_RECURSIVE)
	if err != nil {
		return -1, err
	}
	attr := uint64(quiet)
	if !write {
		attr |= unix.MOUNT_ATTR_RDONLY
	}
	if err := restrict(tree, attr); err != nil {
		unix.Close(tree)
		return -1, err
	}
	return tree, nil
}

// mountID returns the id of the mount that fd lies on, from what the kernel has in
// memory: no file system is asked, for nothing is asked but what the kernel says
// unasked. One that only its owner may ask refuses even root the least word.
func mountID(fd int) (uint64, error) {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", emptyPath|unix.AT_STATX_DONT_SYNC, 0, &st); err != nil {
		return 0, fmt.Errorf("mount of a descriptor: %w", err)
	}
	if st.Mask&unix.STATX_MNT_ID == 0 {
		return 0, errors.New("this kernel does not say which mount a file is on")
	}
	return st.Mnt_id, nil
}
