package seccomp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/sealed"
)

const instructionSize = 8 // bytes of a struct sock_filter

// Install puts the filter on the calling thread and on what it starts. The
// goroutine must be locked to its thread, and the thread must have
// no_new_privs set. A filter cannot be taken off again.
func (f Filter) Install() error { return f.install(0) }

// InstallAll puts the filter on every thread of the process. Each must have
// no_new_privs set or be the caller's descendant; no thread is left without.
func (f Filter) InstallAll() error { return f.install(unix.SECCOMP_FILTER_FLAG_TSYNC) }

func (f Filter) install(flags uintptr) error {
	program, err := f.instructions()
	if err != nil {
		return err
	}
	head := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	stray, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags,
		uintptr(unsafe.Pointer(&head)))
	runtime.KeepAlive(program)
	switch {
	case errno == unix.EACCES:
		return errors.New("install seccomp filter: no_new_privs is not set on this thread")
	case errno != 0:
		return fmt.Errorf("install seccomp filter: %w", errno)
	case stray != 0:
		return fmt.Errorf("install seccomp filter: thread %d cannot take it", stray)
	}
	return nil
}

func (f Filter) instructions() ([]unix.SockFilter, error) {
	if len(f) == 0 || len(f)%instructionSize != 0 || len(f)/instructionSize > unix.BPF_MAXINSNS {
		return nil, fmt.Errorf("seccomp filter of %d bytes is not a BPF program", len(f))
	}
	program := make([]unix.SockFilter, len(f)/instructionSize)
	for i := range program {
		b := f[i*instructionSize:]
		program[i] = unix.SockFilter{
			Code: binary.LittleEndian.Uint16(b), Jt: b[2], Jf: b[3], K: binary.LittleEndian.Uint32(b[4:]),
		}
	}
	return program, nil
}

// Memfd returns the program as a sealed memory file, positioned at its start,
// for bwrap's --seccomp and --add-seccomp-fd. The caller closes it.
func (f Filter) Memfd() (*os.File, error) { return sealed.File("seccomp", f) }
