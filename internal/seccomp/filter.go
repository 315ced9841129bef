// Package seccomp holds the system call filters of omnijail as finished BPF
// programs: Jail for the command in a jail, Outer for bwrap's own processes
// around it, NoUnixSockets beside either, Notify beside that of an observed jail and
// Observer for the process that it asks, Egress for the process that talks to
// the network, Scout for one that opens files as the caller.
//
// The programs are written ahead of time by gen, committed under bpf and
// embedded, so that nothing here needs cgo or a library on the node. An
// architecture without committed filters does not build on Linux.
//
// Egress allows what is listed and refuses the rest; the others refuse what is
// listed and allow the rest. All of them answer ENOSYS to system calls that nobody
// has reviewed and to every ABI but the native one.
package seccomp

//go:generate go run ./gen bpf

import (
	"fmt"
	"slices"
	"strings"
)

// Filter is one classic BPF program, in the layout of the kernel's struct
// sock_filter.
type Filter []byte

// Default is the name of the filter of a jail without weakenings.
const Default = "default"

// Observed is the name of the filter of a jail whose refused calls are reported.
// It refuses what the kernel alone must refuse; the rest is Notify's.
const Observed = "observe"

var weakenings = []string{"ptrace", "nested_sandbox", "compat_abi", Observed}

// Jail returns the filter of a command. At most one weakening that concerns
// system calls may be given: "ptrace", "nested_sandbox" or "compat_abi", or
// Observed in the place of one. It fails where there is no such filter.
func Jail(weaken ...string) (Filter, error) {
	name, err := Name(weaken...)
	if err != nil {
		return nil, err
	}
	return load(name)
}

// Outer returns the filter of process 1 of a jail and what it starts, and that
// the command inherits: the jail's, less what omnijail-init still calls while it
// sets limits and leaves the node's keyring. name is that of the jail's own.
func Outer(name string) (Filter, error) {
	if _, err := Named(name); err != nil {
		return nil, err
	}
	if name == Default {
		return load("outer")
	}
	return load("outer-" + name)
}

// Egress returns the allow-list of the egress process: what the Go runtime and
// net need, no execve, no process, no file written, no Unix socket made.
func Egress() (Filter, error) { return load("egress") }

// Scout returns the filter of a scout that opens files: no execve, no process of
// its own, no socket, and none of what a jail may not call.
func Scout() (Filter, error) { return load("scout") }

// NoUnixSockets returns a filter for beside Jail's. It refuses to make Unix
// sockets, except pairs of them, which lead nowhere else.
func NoUnixSockets() (Filter, error) { return load("no_unix_sockets") }

// Name returns the name of the filter that Jail returns for the same
// weakenings; Named takes it back.
func Name(weaken ...string) (string, error) {
	switch len(weaken) {
	case 0:
		return Default, nil
	case 1:
		if !slices.Contains(weakenings, weaken[0]) {
			return "", fmt.Errorf("weakening %.40q selects no seccomp filter (known: %v)", weaken[0], weakenings)
		}
		return weaken[0], nil
	}
	return "", fmt.Errorf("no seccomp filter for %s together: choose one", strings.Join(weaken, " and "))
}

// Of returns the name of the filter of a jail: the strictest, or that of the one among
// its weakenings that concerns system calls, or of its being observed. It fails where
// there is none for all of that together.
func Of[W ~string](weaken []W, observed bool) (string, error) {
	var concerned []string
	for _, w := range weaken {
		if _, err := Name(string(w)); err == nil {
			concerned = append(concerned, string(w))
		}
	}
	if observed {
		concerned = append(concerned, Observed)
	}
	return Name(concerned...)
}

// Named returns the jail filter called name: Default or a weakening.
func Named(name string) (Filter, error) {
	if name == Default {
		return Jail()
	}
	return Jail(name)
}
