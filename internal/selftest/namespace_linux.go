package selftest

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// kinds are the namespaces of Linux by their names in /proc/self/ns.
var kinds = []struct {
	name string
	flag uintptr
}{
	{"user", unix.CLONE_NEWUSER}, {"mnt", unix.CLONE_NEWNS}, {"pid", unix.CLONE_NEWPID}, {"net", unix.CLONE_NEWNET},
	{"ipc", unix.CLONE_NEWIPC}, {"uts", unix.CLONE_NEWUTS}, {"cgroup", unix.CLONE_NEWCGROUP},
}

// namespaceAttempts make and enter namespaces: in a user namespace of its own a
// process has every capability, and with it the kernel's larger half.
func namespaceAttempts() (out []Attempt) {
	add := func(name, tries string, probe func(*Site) Finding) {
		out = append(out, Attempt{Name: "namespace." + name, Tries: tries, Must: filtered, Guarantee: jail.Syscalls, probe: probe})
	}
	for _, k := range kinds {
		add("unshare_"+k.name, "unshare the "+k.name+" namespace", func(*Site) Finding { return unshare(k.flag) })
		add("clone_"+k.name, "start a process in a new "+k.name+" namespace", func(*Site) Finding { return fork(k.flag) })
		add("clone_"+k.name+"_high", "the same with a bit above the argument", func(*Site) Finding { return fork(high | k.flag) })
		add("setns_"+k.name, "enter a "+k.name+" namespace by descriptor", func(*Site) Finding { return enter(k.name, 0) })
	}
	add("unshare_time", "unshare the time namespace", func(*Site) Finding { return unshare(unix.CLONE_NEWTIME) })
	add("unshare_user_high", "unshare the user namespace with a bit above the argument", func(*Site) Finding {
		return unshare(high | unix.CLONE_NEWUSER)
	})
	add("clone3_user", "start a process in a new user namespace, with arguments where no filter looks", func(*Site) Finding {
		return fork3(unix.CLONE_NEWUSER)
	})
	add("setns_any", "enter a namespace of any kind", func(*Site) Finding { return enter("net", unix.CLONE_NEWNET) })
	add("setns_pidfd", "enter all namespaces of process 1", enterPidfd)
	return out
}

func unshare(flags uintptr) Finding {
	_, _, errno := unix.RawSyscall(unix.SYS_UNSHARE, flags, 0, 0)
	return reached(errno)
}

// fork starts a child that ends at once.
func fork(flags uintptr) Finding {
	return child(func() (uintptr, unix.Errno) {
		pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, flags|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		return pid, errno
	})
}

func fork3(flags uint64) Finding {
	arg := struct{ flags, pidfd, childTID, parentTID, signal, stack, stackSize, tls uint64 }{flags: flags, signal: uint64(unix.SIGCHLD)}
	return child(func() (uintptr, unix.Errno) {
		pid, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&arg)), unsafe.Sizeof(arg), 0)
		return pid, errno
	})
}

func child(start func() (uintptr, unix.Errno)) Finding {
	pid, errno := start()
	if errno != 0 {
		return reached(errno)
	}
	if pid == 0 { // a copy of this thread alone: nothing of Go's may run here
		for {
			unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	unix.Wait4(int(pid), nil, 0, nil)
	return reached(0)
}

func enter(kind string, flag uintptr) Finding {
	f, err := os.Open("/proc/self/ns/" + kind)
	if err != nil {
		return notRun("no descriptor of a namespace: %v", err)
	}
	defer f.Close()
	_, _, errno := unix.RawSyscall(unix.SYS_SETNS, f.Fd(), flag, 0)
	return reached(errno)
}

func enterPidfd(*Site) Finding {
	fd, err := unix.PidfdOpen(1, 0)
	if err != nil {
		return notRun("no descriptor of process 1: %v", err)
	}
	defer unix.Close(fd)
	_, _, errno := unix.RawSyscall(unix.SYS_SETNS, uintptr(fd), unix.CLONE_NEWNET, 0)
	return reached(errno)
}

// readFirst returns the start of a file.
func readFirst(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b := make([]byte, 256)
	n, err := f.Read(b)
	if n > 0 {
		return string(b[:n]), nil
	}
	if err == nil {
		err = fmt.Errorf("%s is empty", path)
	}
	return "", err
}
