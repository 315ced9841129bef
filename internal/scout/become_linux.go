package scout

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// become turns the process into the caller for good, and verifies it. The ids go
// by the syscall package, which changes every thread. This happens after exec,
// not before: a process that changes its ids is no longer dumpable, while an exec
// after the change would leave it open to ptrace by the caller.
func become(c child.Credential) error {
	if c.UID == 0 || c.GID == 0 {
		return errors.New("a scout never is uid 0 or gid 0")
	}
	if err := leaveRoot(); err != nil {
		return err
	}
	groups := make([]int, len(c.Groups))
	for i, g := range c.Groups {
		groups[i] = int(g)
	}
	uid, gid := int(c.UID), int(c.GID)
	if err := syscall.Setgroups(groups); err != nil {
		return fmt.Errorf("setgroups: %w", err)
	}
	if err := syscall.Setresgid(gid, gid, gid); err != nil {
		return fmt.Errorf("setresgid: %w", err)
	}
	if err := syscall.Setresuid(uid, uid, uid); err != nil {
		return fmt.Errorf("setresuid: %w", err)
	}
	if err := shut(); err != nil {
		return err
	}
	return verify(uid, gid, groups)
}

// leaveRoot undoes what only root could and what a child of a root service
// inherits: its protection from the OOM killer, its keyring, its directory.
func leaveRoot() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1}); err != nil {
		// Where the inherited limit is 0 it may not be raised; not being dumpable
		// keeps cores away then.
		if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
			return fmt.Errorf("core limit: %w", err)
		}
	}
	if err := os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(200)), 0); err != nil {
		return fmt.Errorf("oom score: %w", err)
	}
	// Without a name: a new anonymous one.
	if _, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0); err != nil && err != unix.ENOSYS {
		return fmt.Errorf("new session keyring: %w", err)
	}
	unix.Umask(0o077)
	if err := os.Chdir("/"); err != nil {
		return fmt.Errorf("leave directory: %w", err)
	}
	return nil
}

func shut() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("set dumpable: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&head, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// verify reads back what become has set.
func verify(uid, gid int, groups []int) error {
	ru, eu, su := unix.Getresuid()
	rg, eg, sg := unix.Getresgid()
	got, err := unix.Getgroups()
	if err != nil {
		return fmt.Errorf("verify groups: %w", err)
	}
	want := slices.Clone(groups)
	slices.Sort(want)
	slices.Sort(got)
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&head, &caps[0]); err != nil {
		return fmt.Errorf("verify capabilities: %w", err)
	}
	nnp, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil {
		return fmt.Errorf("verify no_new_privs: %w", err)
	}
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		return fmt.Errorf("verify dumpable: %w", err)
	}
	if ru != uid || eu != uid || su != uid || rg != gid || eg != gid || sg != gid ||
		!slices.Equal(slices.Compact(got), slices.Compact(want)) ||
		caps != [2]unix.CapUserData{} || nnp != 1 || dumpable != 0 {
		return errors.New("the kernel did not take the caller's credential")
	}
	return nil
}
