package egressd

import (
	"errors"
	"fmt"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/seccomp"
)

// harden makes the process unreadable to others of its uid and leaves no core.
// It refuses to go on where the cage did not set no_new_privs or left a uid 0:
// this process is started by the daemon, never by hand.
func harden() error {
	if unix.Geteuid() == 0 {
		return errors.New("the egress process must not be root: it is started by omnijaild, not by hand")
	}
	if on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || on != 1 {
		return errors.New("no_new_privs is not set: the egress process is started by omnijaild, not by hand")
	}
	debug.SetTraceback("none") // a trace shows arguments
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("make the process non-dumpable: %w", err)
	}
	// A limit of 1, not 0: a core handler behind a pipe runs at 0 as well.
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1}); err != nil {
		return fmt.Errorf("limit core files: %w", err)
	}
	lockMemory()
	return nil
}

// lockMemory keeps the process out of the swap where its limit allows all of it.
// With a smaller limit a later allocation would fail instead.
func lockMemory() {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit) != nil || limit.Cur != unix.RLIM_INFINITY {
		return
	}
	unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT) // doctor reports where this cannot be had
}

// filterCalls installs the allow-list of system calls on every thread.
func filterCalls() error {
	f, err := seccomp.Egress()
	if err != nil {
		return err
	}
	return f.InstallAll()
}
