package spawn

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/ownthread"
)

// Keep makes a mount namespace and returns it; it lives as long as the file or a
// process in it. fill arranges its mounts, which begin as slaves of the node's.
//
// Mounts that outlive a command are kept in one, because a kernel before Linux 6.15
// clones no mount that is attached nowhere, and nothing is attached on the node.
func Keep(fill func() error) (*os.File, error) {
	var ns *os.File
	err := ownthread.Run(func() (err error) {
		if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
			return fmt.Errorf("new mount namespace: %w", err)
		}
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
			return fmt.Errorf("make mounts slaves of the node's: %w", err)
		}
		if ns, err = os.Open("/proc/thread-self/ns/mnt"); err != nil {
			return err
		}
		if err := fill(); err != nil {
			ns.Close()
			return err
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("keep mounts: %w", err)
	}
	return ns, nil
}
