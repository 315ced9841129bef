package landlock

import (
	"errors"
	"fmt"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// ABI returns the version of the kernel's interface, 0 where it has none.
func ABI() int {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil || abi < 0 {
		return 0
	}
	return abi
}

// Restrict enforces r on the calling thread and on what it executes. The
// goroutine must be locked to its thread, which must have no_new_privs set. Paths
// are opened here, as whoever the thread is by now and in its own view.
func (r Ruleset) Restrict() error {
	fd, flags, err := r.config.NewRulesetFD(r.rules...)
	if err != nil {
		return err
	}
	if fd < 0 {
		return nil // a kernel and a wall that leave nothing to refuse
	}
	defer unix.Close(fd)
	for _, d := range r.open {
		set := access(d.Rights, true) & r.config.HandledAccessFS
		rule := ll.PathBeneathAttr{AllowedAccess: uint64(set), ParentFd: d.FD}
		err := ll.LandlockAddPathBeneathRule(fd, &rule, 0)
		// An anonymous file has no place that a rule could name, and needs none.
		if err != nil && !errors.Is(err, unix.EBADFD) {
			return fmt.Errorf("descriptor %d: %w", d.FD, err)
		}
	}
	// The thread alone: the others end when it executes.
	return ll.LandlockRestrictSelf(fd, flags)
}
