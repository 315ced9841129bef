package initrun

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// Securebits: uid 0 means nothing to execve, ambient capabilities cannot be
// raised, and neither can be undone. NO_SETUID_FIXUP stays off, and locked off:
// leaving uid 0 is what clears the permitted set.
const (
	noRoot              = 1 << 0
	noRootLocked        = 1 << 1
	noFixupLocked       = 1 << 3
	keepCapsLocked      = 1 << 5
	noAmbientRaise      = 1 << 6
	noAmbientLocked     = 1 << 7
	securebits          = noRoot | noRootLocked | noFixupLocked | keepCapsLocked | noAmbientRaise | noAmbientLocked
	ambientClearAll     = 4 // PR_CAP_AMBIENT_CLEAR_ALL
	ambientIsSet        = 1 // PR_CAP_AMBIENT_IS_SET
	lastCapabilityBound = 64
)

// becomeCaller gives root up for good. Setting ids acts on the calling thread,
// unlike the library's functions of the same names: the command is executed by
// this thread, and the others end there.
func becomeCaller(l *child.Launch) *child.StartError {
	bad := func(err error, what string) *child.StartError { return fail(child.StepIdentity, err, what) }

	for c := uintptr(0); c < lastCapabilityBound; c++ {
		errno := prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errno == unix.EINVAL { // beyond the kernel's last capability
			break
		}
		if errno != 0 {
			return bad(errno, "bounding set")
		}
	}
	if errno := prctl(unix.PR_SET_SECUREBITS, securebits, 0, 0, 0); errno != 0 {
		return bad(errno, "securebits")
	}
	var groups unsafe.Pointer
	if len(l.Groups) > 0 {
		groups = unsafe.Pointer(&l.Groups[0])
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(l.Groups)), uintptr(groups), 0); errno != 0 {
		return bad(errno, "groups")
	}
	gid, uid := uintptr(l.GID), uintptr(l.UID)
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, gid, gid, gid); errno != 0 {
		return bad(errno, "gid")
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uid, uid, uid); errno != 0 {
		return bad(errno, "uid")
	}
	if errno := prctl(unix.PR_CAP_AMBIENT, ambientClearAll, 0, 0, 0); errno != 0 {
		return bad(errno, "ambient capabilities")
	}
	var none [2]unix.CapUserData
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return bad(err, "capabilities")
	}
	// Leaving uid 0 set the kernel's default, which may be "dumpable by root".
	if errno := prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); errno != 0 {
		return bad(errno, "dumpable")
	}
	return nil
}
