package stage

import (
	"fmt"
	"path"

	"golang.org/x/sys/unix"
)

// frameSize bounds the directories of a frame in bytes.
const frameSize = 64 << 10

// frame covers a name with a file system of ours that holds nothing but the way to
// each inner grant, closes it against writing, and attaches the grants there.
func (s *staging) frame(step Step) error {
	target := s.names[step.Grant][step.Name]
	if target < 0 {
		return fmt.Errorf("%s has gone", step.Path)
	}
	fs, err := newTmpfs(0o755, 0, 0, frameSize, quiet|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fs)
	for _, in := range step.Inner {
		if err := makePlace(fs, in); err != nil {
			return err
		}
	}
	if err := restrict(fs, unix.MOUNT_ATTR_RDONLY); err != nil {
		return err
	}
	if err := attach(fs, target); err != nil {
		return err
	}
	for _, in := range step.Inner {
		if err := mountAt(fs, in.Place, s.trees[in.Grant]); err != nil {
			return err
		}
	}
	return nil
}

// makePlace makes the directories to a place below fs and what is mounted on.
func makePlace(fs int, in Inner) error {
	if in.Dir {
		return makeDirs(fs, in.Place)
	}
	if err := makeDirs(fs, path.Dir(in.Place)); err != nil {
		return err
	}
	defer barForks()()
	fd, err := unix.Openat(fs, in.Place, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o444)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func makeDirs(fs int, dir string) error {
	if dir == "." {
		return nil
	}
	if err := makeDirs(fs, path.Dir(dir)); err != nil {
		return err
	}
	if err := unix.Mkdirat(fs, dir, 0o755); err != nil && err != unix.EEXIST {
		return err
	}
	return nil
}
