package stage

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Lost is a Protection that has gone with the file that it stood on.
type Lost struct {
	Protection
	At *os.File // what is at its path now: O_PATH, found by a scout
	On uint64   // the mount that it must lie on
}

// Restore makes protections anew. It runs on a thread in the mount namespace of the
// jail, in which nothing moves meanwhile, and resolves no path but of ours. Whether
// they are where they should be the mount table says afterwards: what is at a path
// may be replaced again at any moment.
func Restore(lost []Lost) error {
	empty, forget, err := emptyFor(lost)
	if err != nil {
		return fmt.Errorf("restore protections: %w", err)
	}
	defer forget()
	for _, l := range lost {
		if err := l.restore(empty); err != nil {
			return fmt.Errorf("restore %s %s: %w", l.Op, l.Path, err)
		}
	}
	return nil
}

func (l Lost) restore(empty [2]int) error {
	at := number(l.At)
	if on, err := mountID(at); err != nil || on != l.On {
		return fmt.Errorf("what is there lies on another mount than before (%d, was %d): %w", on, l.On, unix.EXDEV)
	}
	source, recursive := at, uint(unix.AT_RECURSIVE)
	if l.Op == OpHide {
		source, recursive = empty[0], 0
		if l.Dir {
			source = empty[1]
		}
	}
	t, err := clone(source, "", recursive)
	if err != nil {
		return err
	}
	defer unix.Close(t)
	if err := restrict(t, quiet|unix.MOUNT_ATTR_RDONLY); err != nil {
		return err
	}
	return attach(t, at)
}

// restoring is where the empty file and directory are mounted for as long as they
// are cloned: a directory of every jail that is root's and that no grant lies in.
const restoring = "/run"

// emptyFor makes what covers the hidden ones. forget takes it away again.
func emptyFor(lost []Lost) (empty [2]int, forget func(), err error) {
	hides := false
	for _, l := range lost {
		hides = hides || l.Op == OpHide
	}
	if !hides {
		return empty, func() {}, nil
	}
	place, err := unix.Open(restoring, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return empty, nil, err
	}
	defer unix.Close(place)
	if empty, err = makeEmpty(place); err != nil {
		return empty, nil, err
	}
	return empty, func() {
		unix.Close(empty[0])
		unix.Close(empty[1])
		unix.Unmount(restoring, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	}, nil
}
