//go:build linux && cgo

package main

import (
	"slices"

	"golang.org/x/sys/unix"
)

var programs = []string{"execve", "execveat", "fork", "vfork"}

// scoutFilter is of a scout that opens and vets: it has the caller's rights to
// files and needs nothing else, so that a file that gets hold of its code gets
// neither a program, nor another process, nor a socket.
func scoutFilter() filter { return ofScout("scout", tracing) }

// observerFilter is of the process that is told what an observed jail calls. It
// reads the names of files in the memory of the jail's processes, as their user.
func observerFilter() filter {
	others := slices.DeleteFunc(slices.Clone(tracing), func(call string) bool { return call == "process_vm_readv" })
	return ofScout("observer", others)
}

func ofScout(name string, tracing []string) filter {
	f := filter{name: name}
	for _, calls := range [][]string{
		programs, kernelCode, wholeNode, memoryPolicy, handles, rings, unseen, keyrings, tracing,
		mounts, namespaces, hostNames, {"keyctl", "socket", "socketpair", "connect", "bind", "listen"},
	} {
		f.rules = append(f.rules, refuse(unix.EPERM, calls...)...)
	}
	f.rules = append(f.rules, refuse(unix.ENOSYS, "clone3")...)
	f.rules = append(f.rules, newNamespaces()...)
	f.rules = append(f.rules, rule{"clone", unix.EPERM, conds(low(0, unix.CLONE_THREAD, 0))})
	for _, group := range [][]rule{typing(), personalities(), setuid()} {
		f.rules = append(f.rules, group...)
	}
	return f
}
