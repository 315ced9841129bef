package selftest

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/omnijail/omnijail/internal/jail"
	"golang.org/x/sys/unix"
)

const suidBit = 0o4755

// suidAttempts set the bit that would make a file run as the caller for anybody
// who finds it outside.
func suidAttempts() (out []Attempt) {
	for _, w := range []struct {
		name, tries string
		set         func(name string) error // name does not exist
		onFile      func(name string, fd int) error
	}{
		{name: "chmod", tries: "chmod a file", onFile: func(name string, _ int) error { return old(90, name, suidBit) }},
		{name: "chmod_high", tries: "the same with a bit above the argument", onFile: func(name string, _ int) error { return old(90, name, high|suidBit) }},
		{name: "fchmod", tries: "chmod by descriptor", onFile: func(_ string, fd int) error { return unix.Fchmod(fd, suidBit) }},
		{name: "fchmodat", tries: "chmod by the portable call", onFile: func(name string, _ int) error {
			return by(unix.SYS_FCHMODAT, cwdFD, name, suidBit)
		}},
		{name: "fchmodat2", tries: "chmod by the newest call", onFile: func(name string, _ int) error {
			return by(unix.SYS_FCHMODAT2, cwdFD, name, suidBit)
		}},
		{name: "mknod", tries: "make a file with the bit", set: func(name string) error { return old(133, name, unix.S_IFREG|suidBit) }},
		{name: "mknodat", tries: "make a file with the bit by the portable call", set: func(name string) error {
			return by(unix.SYS_MKNODAT, cwdFD, name, unix.S_IFREG|suidBit)
		}},
		{name: "creat", tries: "creat with the bit", set: func(name string) error { return old(85, name, suidBit) }},
		{name: "open", tries: "open O_CREAT with the bit", set: func(name string) error { return old(2, name, unix.O_CREAT|unix.O_RDWR, suidBit) }},
		{name: "openat", tries: "openat O_CREAT with the bit", set: func(name string) error {
			return by(unix.SYS_OPENAT, cwdFD, name, unix.O_CREAT|unix.O_RDWR, suidBit)
		}},
		{name: "openat_high", tries: "the same with bits above the arguments", set: func(name string) error {
			return by(unix.SYS_OPENAT, cwdFD, name, high|unix.O_CREAT|unix.O_RDWR, high|suidBit)
		}},
		{name: "tmpfile", tries: "make an unnamed file with the bit", set: func(name string) error {
			return by(unix.SYS_OPENAT, cwdFD, filepath.Dir(name), unix.O_TMPFILE|unix.O_RDWR, suidBit)
		}},
		{name: "capability", tries: "give a file capabilities of its own", onFile: func(name string, _ int) error {
			return unix.Setxattr(name, "security.capability", fileCapability, 0)
		}},
	} {
		must := "EPERM; no such file is left"
		out = append(out, Attempt{
			Name: "suid." + w.name, Tries: w.tries, Must: must, Guarantee: jail.NoPrivilege,
			probe: func(s *Site) Finding {
				if !s.Write {
					return notRun("the workspace is not writable")
				}
				name := filepath.Join(s.Dir, "suid-"+w.name)
				defer os.Remove(name)
				if w.set != nil {
					return available(w.set(name))
				}
				f, err := os.Create(name)
				if err != nil {
					return notRun("no file to set it on: %v", err)
				}
				defer f.Close()
				return available(w.onFile(name, int(f.Fd())))
			},
		})
	}
	return out
}

// fileCapability is cap_setuid+ep in the kernel's format, version 2.
var fileCapability = []byte{1, 0, 0, 2, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

// errNoCall says that an architecture does not have a call.
const errNoCall = unix.Errno(0xfff)

// old makes a call by the number that only amd64 has.
func old(nr uintptr, name string, rest ...uintptr) error {
	if nr = amd64Only(nr); nr == missing {
		return errNoCall
	}
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(p)
	return made(nr, append([]uintptr{at(p)}, rest...)...)
}

// by makes a call that takes a directory and a name first.
func by(nr, dir uintptr, name string, rest ...uintptr) error {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(p)
	return made(nr, append([]uintptr{dir, at(p)}, rest...)...)
}

func made(nr uintptr, list ...uintptr) error {
	a := args(list...)
	if _, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

func available(err error) Finding {
	if err == errNoCall {
		return notRun("this architecture has no such call")
	}
	return fails(err)
}
