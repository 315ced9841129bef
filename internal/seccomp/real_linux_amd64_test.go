package seccomp

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// machineAttempts makes calls through the other ABIs of this processor.
func machineAttempts() []attempt {
	return []attempt{
		{"x32 getpid", raw(x32 | unix.SYS_GETPID), unix.ENOSYS, unix.ENOSYS},
		{"i386 getpid", i386Call(20), unix.ENOSYS, 0},
		{"i386 socketcall", i386Call(102), unix.ENOSYS, unix.EINVAL},
	}
}

// i386Call makes system call nr through int 0x80, with zero arguments. Go's
// assembler is not used for tests, so the three instructions are laid into a
// page: mov eax, nr; xor ebx, ebx; int 0x80; ret. RAX is also where Go expects
// the result of a function, and BX is free for it to change.
func i386Call(nr byte) func() error {
	page := must(unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC,
		unix.MAP_PRIVATE|unix.MAP_ANON))
	copy(page, []byte{0xb8, nr, 0, 0, 0, 0x31, 0xdb, 0xcd, 0x80, 0xc3})
	code := uintptr(unsafe.Pointer(&page[0]))
	function := &code // a func value points to where its code's address is
	enter := *(*func() int32)(unsafe.Pointer(&function))
	return func() error {
		if result := enter(); result < 0 {
			return syscall.Errno(-result)
		}
		return nil
	}
}
