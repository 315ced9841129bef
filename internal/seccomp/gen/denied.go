//go:build linux && cgo

package main

import "golang.org/x/sys/unix"

// What no jail may call, by subject. A name that libseccomp does not know fails
// the generation; one that an architecture does not have is left out there.
var (
	kernelCode = []string{
		"init_module", "finit_module", "delete_module", "create_module", "query_module",
		"get_kernel_syms", "bpf", "perf_event_open", "userfaultfd", "uselib",
	}
	mounts = []string{
		"mount", "umount", "umount2", "pivot_root", "chroot",
		"open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
	}
	namespaces = []string{"setns", "unshare"}
	hostNames  = []string{"sethostname", "setdomainname"}
	wholeNode  = []string{
		"settimeofday", "stime", "clock_settime", "clock_settime64", "adjtimex",
		"clock_adjtime", "clock_adjtime64",
		"reboot", "kexec_load", "kexec_file_load", "syslog", "swapon", "swapoff", "acct",
		"quotactl", "quotactl_fd", "vhangup", "ioperm", "iopl", "vm86", "vm86old",
		"lookup_dcookie", "nfsservctl", "_sysctl",
	}
	memoryPolicy = []string{
		"mbind", "set_mempolicy", "get_mempolicy", "migrate_pages", "move_pages",
		"set_mempolicy_home_node",
	}
	tracing  = []string{"ptrace", "process_vm_readv", "process_vm_writev", "kcmp"}
	handles  = []string{"open_by_handle_at", "fanotify_init", "pidfd_getfd", "process_madvise"}
	rings    = []string{"io_uring_setup", "io_uring_enter", "io_uring_register"}
	unseen   = []string{"memfd_secret"} // memory that an inspector cannot read
	keyrings = []string{"add_key", "request_key"}

	// unreadable calls take their arguments through memory, where a filter
	// cannot look. ENOSYS makes libraries use the older call.
	unreadable = []string{"clone3", "openat2"}
)

// cloneNew is every namespace that clone can make. CLONE_NEWTIME is among the
// bits of the exit signal there, and no signal has that number.
var cloneNew = []uint32{
	unix.CLONE_NEWNS, unix.CLONE_NEWCGROUP, unix.CLONE_NEWUTS, unix.CLONE_NEWIPC,
	unix.CLONE_NEWUSER, unix.CLONE_NEWPID, unix.CLONE_NEWNET, unix.CLONE_NEWTIME,
}

func newNamespaces() []rule {
	var rules []rule
	for _, bit := range cloneNew {
		rules = append(rules, rule{"clone", unix.EPERM, conds(set(0, bit))})
	}
	return rules
}

// sockets leaves UNIX, INET, INET6 and NETLINK_ROUTE, and pairs of UNIX sockets:
// asking for another family makes the kernel load a module. Multipath TCP would
// have its own path around a listener that has it switched off.
func sockets() []rule {
	var rules []rule
	for _, c := range otherThan(0, unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK) {
		rules = append(rules, rule{"socket", unix.EAFNOSUPPORT, conds(c)})
	}
	for _, c := range otherThan(0, unix.AF_UNIX) {
		rules = append(rules, rule{"socketpair", unix.EAFNOSUPPORT, conds(c)})
	}
	for _, c := range otherThan(2, unix.NETLINK_ROUTE) {
		rules = append(rules, rule{"socket", unix.EPROTONOSUPPORT, conds(equal(0, unix.AF_NETLINK), c)})
	}
	for _, family := range []uint32{unix.AF_INET, unix.AF_INET6} {
		rules = append(rules, rule{"socket", unix.EPROTONOSUPPORT,
			conds(equal(0, family), equal(2, unix.IPPROTO_MPTCP))})
	}
	return append(rules, rule{call: "socketcall", errno: unix.EPERM})
}

// pings refuses the sockets of ICMP echo and of packets made by hand. The kernel
// gives a jail neither; refused here, an observed jail's attempts are reported.
func pings() []rule {
	const kind = 0xf // below SOCK_CLOEXEC and SOCK_NONBLOCK
	return []rule{
		{"socket", unix.EPERM, conds(equal(0, unix.AF_INET), low(1, kind, unix.SOCK_DGRAM), equal(2, unix.IPPROTO_ICMP))},
		{"socket", unix.EPERM, conds(equal(0, unix.AF_INET6), low(1, kind, unix.SOCK_DGRAM), equal(2, unix.IPPROTO_ICMPV6))},
		{"socket", unix.EPERM, conds(equal(0, unix.AF_INET), low(1, kind, unix.SOCK_RAW))},
		{"socket", unix.EPERM, conds(equal(0, unix.AF_INET6), low(1, kind, unix.SOCK_RAW))},
	}
}

// noUnixSockets is a filter beside a jail's own. A pair is born connected and
// stays, but one of datagrams (SOCK_RAW is another word for it) could be
// connected anew, or sent from, to any socket with a name.
func noUnixSockets() filter {
	const kind = 0xf // below SOCK_CLOEXEC and SOCK_NONBLOCK
	return filter{name: "no_unix_sockets", rules: []rule{
		{"socket", unix.EAFNOSUPPORT, conds(equal(0, unix.AF_UNIX))},
		{"socketpair", unix.EAFNOSUPPORT, conds(low(1, kind, unix.SOCK_DGRAM))},
		{"socketpair", unix.EAFNOSUPPORT, conds(low(1, kind, unix.SOCK_RAW))},
	}}
}

// typing refuses to type into a terminal as if the user had.
func typing() []rule {
	return []rule{
		{"ioctl", unix.EPERM, conds(equal(1, unix.TIOCSTI))},
		{"ioctl", unix.EPERM, conds(equal(1, unix.TIOCLINUX))},
	}
}

const asking = 0xffffffff // personality's argument that only asks

func personalities() []rule {
	var rules []rule
	for _, c := range otherThan(0, 0, asking) {
		rules = append(rules, rule{"personality", unix.EPERM, conds(c)})
	}
	return rules
}

// setuid refuses every way to set the setuid bit: the file stays when the jail
// is gone, and outside another user would run it as the caller.
func setuid() []rule {
	const bit = unix.S_ISUID
	rules := []rule{
		{"chmod", unix.EPERM, conds(set(1, bit))},
		{"fchmod", unix.EPERM, conds(set(1, bit))},
		{"fchmodat", unix.EPERM, conds(set(2, bit))},
		{"fchmodat2", unix.EPERM, conds(set(2, bit))},
		{"mknod", unix.EPERM, conds(set(1, bit))},
		{"mknodat", unix.EPERM, conds(set(2, bit))},
		{"creat", unix.EPERM, conds(set(1, bit))},
	}
	// The mode of open means something only where a file is made, and is
	// whatever the register holds otherwise.
	for _, makes := range []uint32{unix.O_CREAT, tmpfile} {
		rules = append(rules,
			rule{"open", unix.EPERM, conds(set(1, makes), set(2, bit))},
			rule{"openat", unix.EPERM, conds(set(2, makes), set(3, bit))})
	}
	return rules
}

// tmpfile is the kernel's __O_TMPFILE; O_TMPFILE holds O_DIRECTORY's bit too.
const tmpfile = unix.O_TMPFILE &^ unix.O_DIRECTORY

// coreLimit keeps RLIMIT_CORE at 1, the one value at which the kernel starts no
// crash handler outside. Reading it is allowed.
func coreLimit() []rule {
	return []rule{
		{"setrlimit", unix.EPERM, conds(equal(0, unix.RLIMIT_CORE))},
		{"prlimit64", unix.EPERM, conds(equal(1, unix.RLIMIT_CORE), notNull(2))},
	}
}
