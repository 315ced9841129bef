package initrun

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// verify reads back what becomeCaller set, from the kernel and not from any
// variable of ours, and tries to undo it.
func verify(l *child.Launch) *child.StartError {
	bad := func(what string) *child.StartError { return fail(child.StepVerify, unix.EPERM, what) }

	if !idsAre(unix.SYS_GETRESUID, l.UID) {
		return bad("uid")
	}
	if !idsAre(unix.SYS_GETRESGID, l.GID) {
		return bad("gid")
	}
	if !groupsAre(l.Groups) {
		return bad("groups")
	}
	var sets [2]unix.CapUserData
	if unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &sets[0]) != nil || sets != [2]unix.CapUserData{} {
		return bad("capabilities")
	}
	if what := leftCapability(); what != "" {
		return bad(what)
	}
	if bits, _, errno := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_GET_SECUREBITS, 0, 0); errno != 0 || bits != securebits {
		return bad("securebits")
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, 0, 0, 0); errno != unix.EPERM {
		return bad("uid 0 could be taken back")
	}
	return nil
}

// idsAre reports whether real, effective and saved id are all want.
func idsAre(call uintptr, want uint32) bool {
	var ids [3]uint32
	_, _, errno := unix.RawSyscall(call, uintptr(unsafe.Pointer(&ids[0])), uintptr(unsafe.Pointer(&ids[1])), uintptr(unsafe.Pointer(&ids[2])))
	return errno == 0 && ids == [3]uint32{want, want, want}
}

func groupsAre(want []uint32) bool {
	got := make([]uint32, len(want)+1) // one more would show
	n, _, errno := unix.RawSyscall(unix.SYS_GETGROUPS, uintptr(len(got)), uintptr(unsafe.Pointer(&got[0])), 0)
	if errno != 0 || int(n) != len(want) {
		return false
	}
	sorted := slices.Sorted(slices.Values(want))
	return slices.Equal(slices.Sorted(slices.Values(got[:n])), sorted)
}

// leftCapability names the set in which a capability is left.
func leftCapability() string {
	for c := uintptr(0); c < lastCapabilityBound; c++ {
		in, _, errno := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_READ, c, 0)
		if errno == unix.EINVAL {
			return ""
		}
		if errno != 0 || in != 0 {
			return "bounding set"
		}
		in, _, errno = unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, ambientIsSet, c, 0, 0, 0)
		if errno != 0 || in != 0 {
			return "ambient capabilities"
		}
	}
	return ""
}
