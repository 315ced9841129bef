//go:build linux && cgo

package main

import (
	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"
)

// What a Go network process calls once it runs. Everything else is EPERM: no
// other program, no process of its own, no file written, no Unix socket made.
var (
	runtimeCalls = []string{
		"futex", "sched_yield", "sched_getaffinity", "nanosleep", "clock_nanosleep",
		"clock_gettime", "gettimeofday", "getrandom", "getpid", "gettid", "tgkill",
		"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall",
		"munmap", "madvise", "mincore", "mlock", "mlock2", "munlock", "mlockall",
		"epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "eventfd2",
		"exit", "exit_group",
		// Threads of a build with the race detector, which is linked with libc.
		"rseq", "set_robust_list",
	}
	descriptorCalls = []string{
		"read", "readv", "write", "writev", "pread64", "close", "lseek", "pipe2",
		"fstat", "newfstatat", "getdents64", "readlinkat", "splice", "sendfile",
	}
	networkCalls = []string{
		"bind", "listen", "accept4", "connect", "getsockname", "getpeername",
		"setsockopt", "getsockopt", "sendto", "recvfrom", "sendmsg", "recvmsg",
		"sendmmsg", "recvmmsg", "shutdown",
	}
	identityCalls = []string{"getuid", "geteuid", "getgid", "getegid", "getgroups", "uname"}
)

// egressFilter returns the allow-list of the egress process.
func egressFilter() filter {
	f := filter{name: "egress", fallback: unix.EPERM}
	for _, calls := range [][]string{runtimeCalls, descriptorCalls, networkCalls, identityCalls} {
		f.rules = append(f.rules, refuse(0, calls...)...)
	}
	f.rules = append(f.rules, refuse(unix.ENOSYS, "clone3", "openat2")...)
	for _, group := range [][]rule{threads(), reads(), memory(), dials(), controls()} {
		f.rules = append(f.rules, group...)
	}
	return f
}

func allow(call string, when ...libseccomp.ScmpCondition) rule {
	return rule{call: call, when: when}
}

// threads allows clone to make threads and nothing else. A thread shares memory
// and handlers, and cannot be born in another namespace.
func threads() []rule {
	const thread = unix.CLONE_THREAD | unix.CLONE_VM | unix.CLONE_SIGHAND
	mask := uint32(thread)
	for _, bit := range cloneNew {
		mask |= bit
	}
	return []rule{allow("clone", low(0, mask, thread))}
}

// reads allows to open for reading. O_TRUNC empties a file even then.
func reads() []rule {
	const writes = unix.O_ACCMODE | unix.O_CREAT | unix.O_TRUNC | tmpfile
	return []rule{
		allow("open", low(1, writes, unix.O_RDONLY)),
		allow("openat", low(2, writes, unix.O_RDONLY)),
	}
}

// memory allows everything but new code.
func memory() []rule {
	return []rule{
		allow("mmap", low(2, unix.PROT_EXEC, 0)),
		allow("mprotect", low(2, unix.PROT_EXEC, 0)),
	}
}

// dials allows TCP and UDP over IP, and asking the kernel for its interfaces,
// which tells the node's own addresses from others.
func dials() []rule {
	const kind = 0xf // below SOCK_CLOEXEC and SOCK_NONBLOCK
	var rules []rule
	for _, family := range []uint32{unix.AF_INET, unix.AF_INET6} {
		for _, proto := range []uint32{0, unix.IPPROTO_TCP} {
			rules = append(rules, allow("socket",
				equal(0, family), low(1, kind, unix.SOCK_STREAM), equal(2, proto)))
		}
		for _, proto := range []uint32{0, unix.IPPROTO_UDP} {
			rules = append(rules, allow("socket",
				equal(0, family), low(1, kind, unix.SOCK_DGRAM), equal(2, proto)))
		}
	}
	return append(rules, allow("socket",
		equal(0, unix.AF_NETLINK), low(1, kind, unix.SOCK_RAW), equal(2, unix.NETLINK_ROUTE)))
}

// controls allows the few harmless commands of calls that have many.
func controls() []rule {
	const nameMapping = 0x53564d41 // PR_SET_VMA: the runtime names its mappings
	rules := []rule{
		allow("prctl", equal(0, nameMapping)),
		allow("prctl", equal(0, unix.PR_GET_DUMPABLE)),
		allow("prctl", equal(0, unix.PR_GET_NO_NEW_PRIVS)),
		allow("prctl", equal(0, unix.PR_SET_DUMPABLE), equal(1, 0)),
		allow("prlimit64", null(2)),
	}
	for _, command := range []uint32{unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL,
		unix.F_DUPFD_CLOEXEC, unix.F_GET_SEALS} {
		rules = append(rules, allow("fcntl", equal(1, command)))
	}
	return rules
}
