//go:build linux && cgo

package main

import "golang.org/x/sys/unix"

// Weakenings that select another filter. Their names are the policy's.
const (
	weakPtrace = "ptrace"
	weakNested = "nested_sandbox"
	weakCompat = "compat_abi"
)

// jailFilters returns the default filter, one per weakening, and beside each the
// outer filter that bwrap's own processes get. A weakening needs both: filters
// add up, and the outer one is inherited.
func jailFilters() []filter {
	var all []filter
	for _, weak := range []string{"", weakPtrace, weakNested, weakCompat, observed} {
		inner, outer := "default", "outer"
		if weak != "" {
			inner, outer = weak, "outer-"+weak
		}
		all = append(all, jail(inner, weak, false), jail(outer, weak, true))
	}
	return all
}

// jail returns the filter of a command. The outer filter is in force while
// omnijail-init still sets limits and joins a fresh keyring.
func jail(name, weak string, outer bool) filter {
	f := filter{name: name, compat: weak == weakCompat}
	if weak == observed {
		return kernelAlone(f, outer)
	}
	for _, calls := range [][]string{kernelCode, wholeNode, memoryPolicy, handles, rings, unseen, keyrings} {
		f.rules = append(f.rules, refuse(unix.EPERM, calls...)...)
	}
	if weak != weakPtrace {
		f.rules = append(f.rules, refuse(unix.EPERM, tracing...)...)
	}
	if weak != weakNested {
		for _, calls := range [][]string{mounts, namespaces, hostNames} {
			f.rules = append(f.rules, refuse(unix.EPERM, calls...)...)
		}
		f.rules = append(f.rules, newNamespaces()...)
	}
	if !outer {
		f.rules = append(f.rules, refuse(unix.EPERM, "keyctl")...)
	}
	f.rules = append(f.rules, personalities()...)
	f = kernelAlone(f, outer)
	f.rules = append(f.rules, pings()...)
	return f
}

// kernelAlone adds what is refused in every jail, observed or not, without asking
// anybody.
func kernelAlone(f filter, outer bool) filter {
	f.rules = append(f.rules, refuse(unix.ENOSYS, unreadable...)...)
	if !outer {
		f.rules = append(f.rules, coreLimit()...)
	}
	for _, group := range [][]rule{sockets(), typing(), setuid()} {
		f.rules = append(f.rules, group...)
	}
	return f
}
