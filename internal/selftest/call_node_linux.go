package selftest

import "golang.org/x/sys/unix"

var noFD = fdRegister(-1)

// kernelCode are ways to put code into the kernel.
var kernelCode = []sysCall{
	{name: "init_module", tries: "load a kernel module from memory", nr: unix.SYS_INIT_MODULE, args: args(zero, 8, empty)},
	{name: "finit_module", tries: "load a kernel module from a descriptor", nr: unix.SYS_FINIT_MODULE, args: args(noFD, empty)},
	{name: "delete_module", tries: "unload a kernel module", nr: unix.SYS_DELETE_MODULE, args: args(none)},
	{name: "bpf", tries: "create a BPF map", nr: unix.SYS_BPF, args: args(0, zero, 72)},
	{name: "bpf_prog_load", tries: "load a BPF program", nr: unix.SYS_BPF, args: args(5, zero, 72)},
	{name: "perf_event_open", tries: "open a performance counter", nr: unix.SYS_PERF_EVENT_OPEN, args: args(zero, 0, noFD, noFD), after: closeResult},
	{name: "userfaultfd", tries: "stop the kernel at page faults of one's choice", nr: unix.SYS_USERFAULTFD, args: args(0), after: closeResult},
	{name: "uselib", tries: "load a library the old way", nr: amd64Only(134), args: args(none)},
	{name: "kexec_load", tries: "load another kernel", nr: unix.SYS_KEXEC_LOAD, args: args(0, 1<<20, 0, 0)},
	{name: "kexec_file_load", tries: "load another kernel from a descriptor", nr: unix.SYS_KEXEC_FILE_LOAD, args: args(noFD, noFD, 0, 0, 0)},
	{name: "io_uring_setup", tries: "make a ring that carries calls past the filter", nr: unix.SYS_IO_URING_SETUP, args: args(1, zero), after: closeResult},
	{name: "io_uring_enter", tries: "submit calls through a ring", nr: unix.SYS_IO_URING_ENTER, args: args(noFD, 0, 0, 0)},
	{name: "io_uring_register", tries: "hand descriptors to a ring", nr: unix.SYS_IO_URING_REGISTER, args: args(noFD, 0, 0, 0)},
	{name: "fanotify_init", tries: "watch a whole file system", nr: unix.SYS_FANOTIFY_INIT, args: args(0, 0), after: closeResult},
}

// wholeNode are calls whose effect no namespace bounds.
var wholeNode = []sysCall{
	{name: "settimeofday", tries: "set the node's clock", nr: unix.SYS_SETTIMEOFDAY, args: args(0, 0)},
	{name: "clock_settime", tries: "set the node's clock by id", nr: unix.SYS_CLOCK_SETTIME, args: args(0, 0)},
	{name: "adjtimex", tries: "bend the node's clock", nr: unix.SYS_ADJTIMEX, args: args(0)},
	{name: "clock_adjtime", tries: "bend a clock by id", nr: unix.SYS_CLOCK_ADJTIME, args: args(0, 0)},
	{name: "reboot", tries: "restart the node", nr: unix.SYS_REBOOT, args: args(0, 0, 0, 0)},
	{name: "syslog", tries: "read the kernel's log", nr: unix.SYS_SYSLOG, args: args(10, 0, 0)},
	{name: "swapon", tries: "add swap space", nr: unix.SYS_SWAPON, args: args(none, 0)},
	{name: "swapoff", tries: "remove swap space", nr: unix.SYS_SWAPOFF, args: args(none)},
	{name: "acct", tries: "redirect process accounting", nr: unix.SYS_ACCT, args: args(none)},
	{name: "quotactl", tries: "change disk quotas", nr: unix.SYS_QUOTACTL, args: args(0, 0, 0, 0)},
	{name: "quotactl_fd", tries: "change disk quotas by descriptor", nr: unix.SYS_QUOTACTL_FD, args: args(noFD, 0, 0, 0)},
	{name: "sethostname", tries: "rename the node", nr: unix.SYS_SETHOSTNAME, args: args(zero, 1<<20)},
	{name: "setdomainname", tries: "change the domain name", nr: unix.SYS_SETDOMAINNAME, args: args(zero, 1<<20)},
	{name: "vhangup", tries: "hang up the terminal for everybody", nr: unix.SYS_VHANGUP},
	{name: "ioperm", tries: "reach hardware ports", nr: amd64Only(173), args: args(1<<20, 1, 1)},
	{name: "iopl", tries: "reach all hardware ports", nr: amd64Only(172), args: args(9)},
	{name: "personality", tries: "switch address randomisation off", nr: unix.SYS_PERSONALITY, args: args(0x0040000), after: plainPersonality},
	{name: "personality_high", tries: "the same with a bit above the argument", nr: unix.SYS_PERSONALITY, args: args(high | 0x0040000), after: plainPersonality},
	{name: "setrlimit_core", tries: "lower the core limit so that root's handler runs outside", nr: amd64Only(160), args: args(unix.RLIMIT_CORE, zero)},
	{name: "setrlimit_core_high", tries: "the same with a bit above the argument", nr: amd64Only(160), args: args(high|unix.RLIMIT_CORE, zero)},
	{name: "prlimit_core", tries: "lower the core limit by the newer call", nr: unix.SYS_PRLIMIT64, args: args(0, unix.RLIMIT_CORE, zero, 0)},
	{name: "prlimit_core_high", tries: "the same with a bit above the argument", nr: unix.SYS_PRLIMIT64, args: args(0, high|unix.RLIMIT_CORE, zero, 0)},
}

func plainPersonality(uintptr) { unix.Syscall(unix.SYS_PERSONALITY, 0, 0, 0) }

// mountCalls change what is mounted.
var mountCalls = []sysCall{
	{name: "mount", tries: "mount a tmpfs", nr: unix.SYS_MOUNT, args: args(at(&tmpfsName[0]), none, at(&tmpfsName[0]), 0, 0)},
	{name: "mount_bind", tries: "bind a directory to another place", nr: unix.SYS_MOUNT, args: args(slash, none, 0, unix.MS_BIND, 0)},
	{name: "mount_remount", tries: "make what is read-only writable", nr: unix.SYS_MOUNT, args: args(0, none, 0, unix.MS_REMOUNT|unix.MS_BIND, 0)},
	{name: "umount2", tries: "take a mask away", nr: unix.SYS_UMOUNT2, args: args(none, unix.MNT_DETACH)},
	{name: "pivot_root", tries: "change the root of the mount namespace", nr: unix.SYS_PIVOT_ROOT, args: args(none, none)},
	{name: "chroot", tries: "change the root directory", nr: unix.SYS_CHROOT, args: args(slash)},
	{name: "open_tree", tries: "clone a mount to a descriptor", nr: unix.SYS_OPEN_TREE, args: args(cwdFD, slash, 1), after: closeResult},
	{name: "move_mount", tries: "attach a mount by descriptor", nr: unix.SYS_MOVE_MOUNT, args: args(noFD, empty, noFD, empty, 0)},
	{name: "fsopen", tries: "open a file system to configure", nr: unix.SYS_FSOPEN, args: args(at(&tmpfsName[0]), 0), after: closeResult},
	{name: "fsconfig", tries: "configure a file system", nr: unix.SYS_FSCONFIG, args: args(noFD, 0, 0, 0, 0)},
	{name: "fsmount", tries: "mount a configured file system", nr: unix.SYS_FSMOUNT, args: args(noFD, 0, 0)},
	{name: "fspick", tries: "open a mounted file system to configure", nr: unix.SYS_FSPICK, args: args(cwdFD, slash, 0), after: closeResult},
	{name: "mount_setattr", tries: "clear read-only and nosuid", nr: unix.SYS_MOUNT_SETATTR, args: args(cwdFD, none, 0, zero, 32)},
	{name: "open_by_handle_at", tries: "open a file by handle, past every directory", nr: unix.SYS_OPEN_BY_HANDLE_AT, args: args(cwdFD, zero, 0)},
}
