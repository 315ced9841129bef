//go:build linux && cgo

package main

import (
	"fmt"
	"io"
	"os"

	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"
)

// abi is one system call table of a machine.
type abi struct {
	arch  libseccomp.ScmpArch
	audit uint32   // AUDIT_ARCH_*
	top   uint32   // highest number that was reviewed
	holes [][2]int // numbers below it that had no name then
}

// machine is a processor architecture: its own ABI and a 32-bit one, which only
// the weakening compat_abi judges call by call. Everywhere else, and for x32,
// whose calls carry the native ABI's mark, the answer is ENOSYS.
type machine struct {
	name   string // GOARCH
	native abi
	compat *abi
}

var machines = []machine{
	{
		name:   "amd64",
		native: abi{libseccomp.ArchAMD64, unix.AUDIT_ARCH_X86_64, 456, [][2]int{{335, 423}}},
		compat: &abi{libseccomp.ArchX86, unix.AUDIT_ARCH_I386, 456,
			[][2]int{{222, 223}, {251, 251}, {285, 285}, {387, 392}, {415, 415}}},
	},
	{
		name:   "arm64",
		native: abi{libseccomp.ArchARM64, unix.AUDIT_ARCH_AARCH64, 456, [][2]int{{244, 259}, {295, 423}}},
	},
}

// compile returns f as the kernel takes it: the ceiling of each ABI, then
// libseccomp's program. Jumps of classic BPF are relative, so the two join.
func (m machine) compile(f filter) ([]byte, error) {
	abis := []abi{m.native}
	if f.compat {
		abis = append(abis, *m.compat)
	}
	program, err := translate(f, abis)
	if err != nil {
		return nil, err
	}
	front, err := ceiling(abis)
	if err != nil {
		return nil, err
	}
	return append(front, program...), nil
}

// translate lets libseccomp write the program of f.
func translate(f filter, abis []abi) ([]byte, error) {
	sf, err := libseccomp.NewFilter(answer(f.fallback))
	if err != nil {
		return nil, err
	}
	defer sf.Release()
	if err := setArches(sf, abis); err != nil {
		return nil, err
	}
	if err := sf.SetBadArchAction(answer(unix.ENOSYS)); err != nil {
		return nil, err
	}
	for _, r := range f.rules {
		call, err := libseccomp.GetSyscallFromName(r.call)
		if err != nil {
			return nil, fmt.Errorf("system call %q: %w", r.call, err)
		}
		action := answer(r.errno)
		if f.notify {
			action = libseccomp.ActNotify
		}
		if err := add(sf, call, r, action); err != nil {
			return nil, fmt.Errorf("rule for %q: %w", r.call, err)
		}
	}
	return export(sf)
}

// export reads the program back from a memory file, because libseccomp before
// 2.6 writes to descriptors only.
func export(sf *libseccomp.ScmpFilter) ([]byte, error) {
	fd, err := unix.MemfdCreate("filter", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "filter")
	defer f.Close()
	if err := sf.ExportBPF(f); err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(f)
}

func setArches(sf *libseccomp.ScmpFilter, abis []abi) error {
	native, err := libseccomp.GetNativeArch()
	if err != nil {
		return err
	}
	wanted := false
	for _, a := range abis {
		if err := sf.AddArch(a.arch); err != nil {
			return err
		}
		wanted = wanted || a.arch == native
	}
	if wanted {
		return nil
	}
	return sf.RemoveArch(native)
}

func add(sf *libseccomp.ScmpFilter, call libseccomp.ScmpSyscall, r rule, action libseccomp.ScmpAction) error {
	if len(r.when) == 0 {
		return sf.AddRule(call, action)
	}
	return sf.AddRuleConditional(call, action, r.when)
}

func answer(errno unix.Errno) libseccomp.ScmpAction {
	if errno == 0 {
		return libseccomp.ActAllow
	}
	return libseccomp.ActErrno.SetReturnCode(int16(errno))
}
