package node

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// root asks whether this process may do what a daemon does: root, and of the node,
// not of a user namespace.
func root() Fact {
	const fix = "start omnijaild as root of the node, not in a user namespace or a rootless container"
	if uid := os.Geteuid(); uid != 0 {
		return Fact{Name: Root, Answer: No, Detail: "running as uid " + strconv.Itoa(uid), Fix: fix}
	}
	text, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return unknown(Root, err, fix)
	}
	var inside, outside, count uint64
	if _, err := fmt.Sscan(string(text), &inside, &outside, &count); err != nil {
		return unknown(Root, err, fix)
	}
	if inside != 0 || outside != 0 || count != 1<<32-1 {
		return Fact{Name: Root, Answer: No, Detail: "root of a user namespace", Fix: fix}
	}
	return Fact{Name: Root, Answer: Yes, Detail: "root of the node"}
}

// kernel asks for system calls by making them with arguments that cannot succeed.
func kernel() []Fact {
	const none = -1
	mounts := unix.MountSetattr(none, "", unix.AT_EMPTY_PATH, &unix.MountAttr{})
	_, open := unix.Openat2(none, "x", &unix.OpenHow{Resolve: unix.RESOLVE_BENEATH})
	_, pidfd := unix.PidfdOpen(0, 0)
	return []Fact{
		exists(MountByFD, mounts, "mount_setattr", "Linux 5.12"),
		exists(SafeOpen, open, "openat2", "Linux 5.6"),
		exists(Pidfd, pidfd, "pidfd_open", "Linux 5.3"),
		devPTS(),
		seccomp(),
	}
}

// exists judges the error of a call that was bound to fail. EPERM is what a
// container's filter says to calls that it does not know.
func exists(name Name, err error, call, since string) Fact {
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return Fact{Name: name, Answer: No, Detail: fmt.Sprintf("%s: %v", call, err),
			Fix: fmt.Sprintf("run %s or newer, outside of a container that filters %s", since, call)}
	}
	return Fact{Name: name, Answer: Yes, Detail: call}
}

func devPTS() Fact {
	fd, err := unix.Fsopen("devpts", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return Fact{Name: DevPTS, Answer: No, Detail: fmt.Sprintf("fsopen devpts: %v", err),
			Fix: "run Linux 5.2 or newer as root, with CONFIG_UNIX98_PTYS"}
	}
	unix.Close(fd)
	return Fact{Name: DevPTS, Answer: Yes, Detail: "a file system of its own"}
}

// seccomp asks to install no filter: EFAULT says that the kernel wanted to read
// one.
func seccomp() Fact {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, 0)
	if errno != unix.EFAULT {
		return Fact{Name: Seccomp, Answer: No, Detail: "no filters for all threads: " + errno.Error(),
			Fix: "run a kernel with CONFIG_SECCOMP_FILTER"}
	}
	return Fact{Name: Seccomp, Answer: Yes, Detail: "filters for all threads"}
}
