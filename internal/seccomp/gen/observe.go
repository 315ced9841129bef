//go:build linux && cgo

package main

import (
	"fmt"
	"strings"

	libseccomp "github.com/seccomp/libseccomp-golang"
)

// A jail that is observed has its refusals in two filters. What would do harm
// outside, or is no more than an argument away from it, stays refused by the
// kernel alone: sockets of other families, typing, the setuid bit, core limits, ABIs, numbers that
// nobody reviewed. What a process without capabilities could do little with is
// notified to a process outside, which knows one answer for it, EPERM, and which
// gone means ENOSYS. Both kinds together are what a jail is refused otherwise.
const observed = "observe"

// notified are the refusals that are reported, with the weakening that gives them
// back.
func notified() []group {
	return []group{
		{"-", refuse(0, kernelCode...)}, {"-", refuse(0, wholeNode...)}, {"-", refuse(0, memoryPolicy...)},
		{"-", refuse(0, handles...)}, {"-", refuse(0, rings...)}, {"-", refuse(0, unseen...)},
		{"-", refuse(0, keyrings...)}, {"-", refuse(0, "keyctl")}, {"-", personalities()}, {"-", pings()},
		{weakPtrace, refuse(0, tracing...)},
		{weakNested, refuse(0, mounts...)}, {weakNested, refuse(0, namespaces...)},
		{weakNested, refuse(0, hostNames...)}, {weakNested, newNamespaces()},
	}
}

// group is some refusals and the weakening without them; "-" for none.
type group struct {
	weak  string
	rules []rule
}

// looked are the calls that name a file. They are reported and go on whatever
// becomes of the report: the kernel judges them as always.
var looked = []string{
	"open", "openat", "creat", "execve", "stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2",
	"mkdir", "mkdirat", "mknod", "mknodat", "symlink", "symlinkat", "link", "linkat", "rename", "renameat", "renameat2",
	"unlink", "unlinkat", "rmdir", "truncate", "chmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchownat", "utimensat",
}

// notifyFilter reports and refuses nothing itself.
func notifyFilter() filter {
	f := filter{name: "notify", notify: true}
	for _, g := range notified() {
		f.rules = append(f.rules, g.rules...)
	}
	f.rules = append(f.rules, refuse(0, looked...)...)
	return f
}

// callTable lists what the notify filter reports on a machine, a line each: the
// number, the name, and the weakening, "-" for none, "file" for a call that goes
// on.
func callTable(m machine) ([]byte, error) {
	var b strings.Builder
	seen := map[string]bool{}
	add := func(call, what string) error {
		if seen[call] {
			return nil
		}
		seen[call] = true
		nr, err := libseccomp.GetSyscallFromNameByArch(call, m.native.arch)
		if err == nil && nr >= 0 {
			fmt.Fprintf(&b, "%d %s %s\n", nr, call, what)
		}
		return err
	}
	for _, g := range notified() {
		for _, r := range g.rules {
			if err := add(r.call, g.weak); err != nil {
				return nil, err
			}
		}
	}
	for _, call := range looked {
		if err := add(call, "file"); err != nil {
			return nil, err
		}
	}
	return []byte(b.String()), nil
}
