package reaper

import (
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// beyondCapabilities is above the last capability of any kernel.
const beyondCapabilities = 64

// keep drops every capability but those given, from all sets and from all
// threads: each of them is process 1 of the jail.
func keep(caps ...uintptr) error {
	var set [2]unix.CapUserData
	for c := uintptr(0); c < beyondCapabilities; c++ {
		if slices.Contains(caps, c) {
			set[c/32].Permitted |= 1 << (c % 32)
			set[c/32].Effective |= 1 << (c % 32)
			continue
		}
		if in, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0); err != nil {
			break // beyond this kernel's last
		} else if in == 0 {
			continue
		}
		if _, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0, 0, 0, 0); errno != 0 {
			return errno
		}
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&set)), 0)
	runtime.KeepAlive(&head)
	runtime.KeepAlive(&set)
	if errno != 0 {
		return errno
	}
	return nil
}
