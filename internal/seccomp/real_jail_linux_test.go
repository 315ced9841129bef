package seccomp

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attempt is a system call as a jailed program makes it, on this processor.
type attempt struct {
	what string
	do   func() error
	want syscall.Errno // in the jail; 0 is success
	bare syscall.Errno // without a filter, as root: what shows that the filter decides
}

func raw(nr uintptr, a ...uintptr) func() error {
	var six [6]uintptr
	copy(six[:], a)
	return func() error {
		_, _, errno := unix.RawSyscall6(nr, six[0], six[1], six[2], six[3], six[4], six[5])
		if errno == 0 {
			return nil
		}
		return errno
	}
}

// What raw calls point to does not move, because it is global.
var (
	fileName = []byte("file\x00")
	coreOne  = unix.Rlimit{Cur: 1, Max: 1}
)

func attempts() []attempt {
	file := uintptr(unsafe.Pointer(&fileName[0]))
	limit := uintptr(unsafe.Pointer(&coreOne))
	cwd := ^uintptr(99) // AT_FDCWD
	return []attempt{
		{"vsock", raw(unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM), unix.EAFNOSUPPORT, 0},
		{"vsock by a high half", raw(unix.SYS_SOCKET, 1<<32|unix.AF_VSOCK, unix.SOCK_STREAM), unix.EAFNOSUPPORT, 0},
		{"packet", raw(unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_RAW), unix.EAFNOSUPPORT, 0},
		{"kobject netlink", raw(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, 15), unix.EPROTONOSUPPORT, 0},
		{"route netlink", raw(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, 0), 0, 0},
		{"tcp", raw(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM), 0, 0},
		{"setuid by fchmodat", raw(unix.SYS_FCHMODAT, cwd, file, 04755), unix.EPERM, 0},
		{"setuid by fchmodat2", raw(452, cwd, file, 04755, 0), unix.EPERM, 0},
		{"setuid by fchmod", func() error { return onFile(func(fd int) error { return unix.Fchmod(fd, 04755) }) }, unix.EPERM, 0},
		{"setuid by openat", func() error {
			return closed(unix.Openat(unix.AT_FDCWD, "made", unix.O_CREAT|unix.O_RDWR, 04755))
		}, unix.EPERM, 0},
		{"setuid by a nameless file", func() error {
			return closed(unix.Openat(unix.AT_FDCWD, ".", unix.O_TMPFILE|unix.O_RDWR, 04755))
		}, unix.EPERM, 0},
		{"setuid by mknodat", func() error { return unix.Mknodat(unix.AT_FDCWD, "node", unix.S_IFREG|04755, 0) }, unix.EPERM, 0},
		{"setuid by openat2", func() error {
			return closed(unix.Openat2(unix.AT_FDCWD, "made2", &unix.OpenHow{Flags: unix.O_CREAT | unix.O_RDWR, Mode: 04755}))
		}, unix.ENOSYS, 0},
		{"plain mode", raw(unix.SYS_FCHMODAT, cwd, file, 0644), 0, 0},
		{"core limit", raw(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_CORE, limit), unix.EPERM, 0},
		{"personality", raw(unix.SYS_PERSONALITY, 0x0040000), unix.EPERM, 0},
		{"personality asked", raw(unix.SYS_PERSONALITY, 0xffffffff), 0, 0},
		{"keyring", raw(unix.SYS_KEYCTL, 0, ^uintptr(2)), unix.EPERM, 0},
		{"a call nobody reviewed", raw(462, 0, 0, 0), unix.ENOSYS, 0}, // mseal of nothing
		{"a call far beyond", raw(1000), unix.ENOSYS, unix.ENOSYS},
		{"another user namespace", raw(unix.SYS_UNSHARE, unix.CLONE_NEWUTS), unix.EPERM, 0},
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func closed(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func onFile(do func(fd int) error) error {
	f := must(os.Open("file"))
	defer f.Close()
	return do(int(f.Fd()))
}

func tryAll() error {
	if err := os.WriteFile("file", nil, 0o644); err != nil {
		return err
	}
	for _, a := range append(attempts(), machineAttempts()...) {
		err := a.do()
		errno, _ := err.(syscall.Errno)
		if err != nil && errno == 0 {
			return fmt.Errorf("%s: %w", a.what, err)
		}
		fmt.Println(line(a, errno))
	}
	return nil
}

func bareChild() error { return tryAll() }

func jailChild() error {
	f, err := Jail()
	if err != nil {
		return err
	}
	if err := noNewPrivs(); err != nil {
		return err
	}
	if err := f.InstallAll(); err != nil {
		return err
	}
	if err := tryAll(); err != nil {
		return err
	}
	// What every build does still works: a process, threads, a pipe.
	return exec.Command("/bin/sh", "-c", "true | cat").Run()
}

func line(a attempt, errno syscall.Errno) string { return fmt.Sprintf("%s: %d", a.what, errno) }

func TestS25_S29_RealCallsInAJail(t *testing.T) {
	var want []string
	for _, a := range append(attempts(), machineAttempts()...) {
		want = append(want, line(a, a.want))
	}
	if got := runChild(t, "jail"); !slices.Equal(got, want) {
		t.Errorf("in the jail\n%q\nwant\n%q", got, want)
	}
}

// Without a filter the same calls succeed, so it is the filter that refuses.
func TestRealCallsWithoutAFilter(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("making the calls without a filter takes root")
	}
	got := runChild(t, "bare")
	for i, a := range append(attempts(), machineAttempts()...) {
		lacking := []string{line(a, unix.ENOSYS), line(a, unix.EAFNOSUPPORT)}
		switch {
		case got[i] == line(a, a.bare):
		case slices.Contains(lacking, got[i]):
			t.Logf("this kernel does not have it: %q", got[i])
		default:
			t.Errorf("bare: %q, want %q", got[i], line(a, a.bare))
		}
	}
}
