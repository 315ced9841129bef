package spawn

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/ownthread"
)

// Within runs f on a thread of its own in the mount namespace of the process that
// pidfd names, with that namespace's root. Nothing that runs in there may be able to
// move meanwhile: f is root's and can touch what is mounted.
func Within(pidfd *os.File, f func() error) error {
	fds, err := numbers([]*os.File{pidfd})
	if err != nil {
		return err
	}
	return ownthread.Run(func() error {
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return fmt.Errorf("own working directory: %w", err)
		}
		if err := unix.Setns(int(fds[0]), unix.CLONE_NEWNS); err != nil {
			return fmt.Errorf("enter the mount namespace of a jail: %w", err)
		}
		return f()
	})
}
