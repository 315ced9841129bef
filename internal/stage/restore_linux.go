package stage

import (
	"errors"
	"fmt"
	"os"
	"slices"

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
func Restore(lost []Lost) (err error) {
	var empty [2]int
	if slices.ContainsFunc(lost, func(l Lost) bool { return l.Op == OpHide }) {
		var takeBack func() error
		if empty, takeBack, err = lendEmpty(); err != nil {
			return fmt.Errorf("restore protections: %w", err)
		}
		defer func() { err = errors.Join(err, takeBack(), unix.Close(empty[0]), unix.Close(empty[1])) }()
	}
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
