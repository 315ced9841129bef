package confine

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	read    = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	execExe = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE
)

// handled returns what a ruleset of this ABI can forbid: every access to files,
// binding a TCP port, and reaching other processes by abstract socket or signal.
// Connecting is the process's work and stays free.
func handled(abi int) unix.LandlockRulesetAttr {
	last := uint64(unix.LANDLOCK_ACCESS_FS_MAKE_SYM)
	for _, step := range []struct {
		abi   int
		right uint64
	}{
		{2, unix.LANDLOCK_ACCESS_FS_REFER},
		{3, unix.LANDLOCK_ACCESS_FS_TRUNCATE},
		{5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
		{9, unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX},
	} {
		if abi >= step.abi {
			last = step.right
		}
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: last<<1 - 1}
	if abi >= 4 {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP
	}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return attr
}

// restrict adds Landlock as the second wall, to this thread and what it executes:
// the visible directories may be read, the executable executed. A kernel without
// it has the mount namespace and the filter of system calls only, which doctor
// reports.
func restrict() error {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return nil
	}
	attr := handled(int(abi))
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("make a ruleset: %w", errno)
	}
	defer unix.Close(int(ruleset))
	for _, dir := range visible {
		if err := permitDir(ruleset, dir); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	// An anonymous file has no place that a rule could name, and needs none.
	if err := permit(ruleset, exeFD, execExe); err != nil && !errors.Is(err, unix.EBADFD) {
		return fmt.Errorf("executable: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func permitDir(ruleset uintptr, dir string) error {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return permit(ruleset, fd, read)
}

func permit(ruleset uintptr, fd int, access uint64) error {
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
