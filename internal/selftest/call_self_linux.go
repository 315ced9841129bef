package selftest

import (
	"os"

	"golang.org/x/sys/unix"
)

var self = uintptr(os.Getpid())

// looking are ways to look into other processes and to take from them.
var looking = []sysCall{
	{name: "ptrace", tries: "trace a process", nr: unix.SYS_PTRACE, args: args(unix.PTRACE_PEEKDATA, self, 0, 0)},
	{name: "process_vm_readv", tries: "read another process's memory", nr: unix.SYS_PROCESS_VM_READV, args: args(self, 0, 0, 0, 0, 0)},
	{name: "process_vm_writev", tries: "write another process's memory", nr: unix.SYS_PROCESS_VM_WRITEV, args: args(self, 0, 0, 0, 0, 0)},
	{name: "kcmp", tries: "compare kernel objects of two processes", nr: unix.SYS_KCMP, args: args(self, self, 0, 0, 0)},
	{name: "pidfd_getfd", tries: "take a descriptor out of another process", nr: unix.SYS_PIDFD_GETFD, args: args(noFD, 0, 0)},
	{name: "process_madvise", tries: "advise on another process's memory", nr: unix.SYS_PROCESS_MADVISE, args: args(noFD, 0, 0, 0, 0)},
	{name: "add_key", tries: "add a key to a keyring", nr: unix.SYS_ADD_KEY, args: args(at(&keyType[0]), at(&keyName[0]), zero, 1, fdRegister(-1))},
	{name: "request_key", tries: "ask the node for a key", nr: unix.SYS_REQUEST_KEY, args: args(at(&keyType[0]), at(&keyName[0]), 0, 0)},
	{name: "keyctl", tries: "reach the session keyring", nr: unix.SYS_KEYCTL, args: args(0, fdRegister(-3), 0)},
}

// memory are calls on memory that a jail has no use for.
var memory = []sysCall{
	{name: "memfd_secret", tries: "have memory that nothing can inspect", nr: unix.SYS_MEMFD_SECRET, args: args(0), after: closeResult},
	{name: "mbind", tries: "bind memory to a node of the machine", nr: unix.SYS_MBIND},
	{name: "set_mempolicy", tries: "set the memory policy", nr: unix.SYS_SET_MEMPOLICY},
	{name: "get_mempolicy", tries: "read the memory policy", nr: unix.SYS_GET_MEMPOLICY},
	{name: "migrate_pages", tries: "move another process's memory", nr: unix.SYS_MIGRATE_PAGES, args: args(0, 0, 0, 0)},
	{name: "move_pages", tries: "move pages of another process", nr: unix.SYS_MOVE_PAGES},
	{name: "set_mempolicy_home_node", tries: "choose a home for memory", nr: unix.SYS_SET_MEMPOLICY_HOME_NODE},
}

// newer are calls that nobody has reviewed, or that no filter can read.
var newer = []sysCall{
	{name: "openat2", tries: "open with arguments in memory, where a filter cannot look", nr: unix.SYS_OPENAT2, args: args(cwdFD, slash, zero, 24), after: closeResult},
	{name: "statmount", tries: "describe a mount by id", nr: 457, args: args(0, 0, 0, 0)},
	{name: "listmount", tries: "list the mounts below another", nr: 458, args: args(0, 0, 0, 0)},
	{name: "lsm_set_self_attr", tries: "change the security module's label", nr: 460, args: args(0, 0, 0, 0)},
	{name: "mseal", tries: "a call newer than the reviewed table", nr: 462},
	{name: "setxattrat", tries: "set attributes by the newest call", nr: 463, args: args(cwdFD, none, 0, zero, zero, 16)},
	{name: "open_tree_attr", tries: "clone and change a mount by the newest call", nr: 467, args: args(cwdFD, none, 1, zero, 32)},
}
