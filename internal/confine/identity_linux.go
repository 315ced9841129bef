package confine

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// identity is the egress user: one uid, one gid, no further group.
type identity struct{ uid, gid uint32 }

const secureBits = 1<<0 | 1<<1 | // NOROOT, locked: uid 0 would mean nothing
	1<<6 | 1<<7 // NO_CAP_AMBIENT_RAISE, locked

// assume gives all privilege up. The calls are made for this thread alone, as
// the libc wrappers would ask threads that the exec is about to end.
func (id identity) assume() error {
	for c := uintptr(0); c < 64; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); errors.Is(err, unix.EINVAL) {
			break // above the last capability of this kernel
		} else if err != nil {
			return fmt.Errorf("drop capability %d from the bounding set: %w", c, err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, secureBits, 0, 0, 0); err != nil {
		return fmt.Errorf("securebits: %w", err)
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); e != 0 {
		return fmt.Errorf("setgroups: %w", e)
	}
	gid, uid := uintptr(id.gid), uintptr(id.uid)
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESGID, gid, gid, gid); e != 0 {
		return fmt.Errorf("setresgid: %w", e)
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, uid, uid, uid); e != 0 {
		return fmt.Errorf("setresuid: %w", e)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("make the process non-dumpable: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}

// verify reads everything back: a drop that did not happen must not be found out
// by an attacker.
func (id identity) verify() error {
	var r, e, s uint32
	if _, _, no := unix.RawSyscall(unix.SYS_GETRESUID, ptr(&r), ptr(&e), ptr(&s)); no != 0 || r != id.uid || e != id.uid || s != id.uid {
		return fmt.Errorf("uids are %d %d %d", r, e, s)
	}
	if _, _, no := unix.RawSyscall(unix.SYS_GETRESGID, ptr(&r), ptr(&e), ptr(&s)); no != 0 || r != id.gid || e != id.gid || s != id.gid {
		return fmt.Errorf("gids are %d %d %d", r, e, s)
	}
	if groups, err := os.Getgroups(); err != nil || len(groups) != 0 {
		return fmt.Errorf("groups are %v", groups)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil || data != [2]unix.CapUserData{} {
		return fmt.Errorf("capabilities are %v", data)
	}
	for c := uintptr(0); c < 64; c++ {
		if in, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0); err == nil && in != 0 {
			return fmt.Errorf("capability %d is still in the bounding set", c)
		}
		if on, err := unix.PrctlRetInt(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_IS_SET, c, 0, 0); err == nil && on != 0 {
			return fmt.Errorf("capability %d is still ambient", c)
		}
	}
	return nil
}

func ptr(v *uint32) uintptr { return uintptr(unsafe.Pointer(v)) }
