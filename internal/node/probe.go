package node

import (
	"context"
	"fmt"
	"slices"

	"github.com/omnijail/omnijail/internal/landlock"
)

// Probes says what Probe cannot know by itself.
type Probes struct {
	// Bwrap is the absolute path of the bubblewrap to use.
	Bwrap string
	// Network makes a namespace with its sockets and closes it. Nil leaves the
	// fact inconclusive.
	Network func() error
	// Steering has the connections of a namespace steered by the kernel, whatever
	// their port. Nil leaves the fact inconclusive.
	Steering func() error
	// Drop runs one command in a real jail and returns an error unless it ended
	// up as an unprivileged user with five empty capability sets. Nil leaves the
	// fact inconclusive.
	Drop func() error
	// Bare is the same in a jail that is made without bwrap.
	Bare func() error
	// Fence attaches the programs of the fence to a cgroup. Nil leaves the fact
	// inconclusive.
	Fence func() error
}

// Probe asks the node everything, once. It takes as long as the two functions of
// Probes do, and a few milliseconds. The context ends what runs a program.
func Probe(ctx context.Context, p Probes) Facts {
	abi := landlock.ABI()
	drop := tried(Drop, p.Drop, "a command in a jail ran without privilege",
		"see the error; AppArmor and container runtimes are known to forbid this to bwrap's children")
	bare := tried(Bare, p.Bare, "a command in a jail without bwrap ran behind Landlock and without privilege",
		"see the error; container runtimes are known to forbid namespaces and mounts")
	network := tried(Network, p.Network, "a network namespace with our sockets was made",
		"run a kernel with CONFIG_NET_NS, as root of the node itself")
	steering := tried(Steering, p.Steering, "connections come to the proxy whatever their port",
		"run Linux 5.9 or newer with CONFIG_BPF_SYSCALL, as root of the node itself; until then connections come to the proxy at the ports that rules name, those ports are taken from jails, and attempts at other ports are refused without a record")
	fence := tried(Fence, p.Fence, "what an egress process may dial is guarded by the kernel too",
		"mount cgroup v2 (mount -t cgroup2 none /sys/fs/cgroup/unified) on a kernel with CONFIG_CGROUP_BPF; until then the guard is the egress process's own code alone")
	return Facts{LandlockABI: abi, Facts: slices.Concat(
		[]Fact{root()}, bubblewrap(ctx, p.Bwrap), []Fact{drop, bare},
		kernel(), landlocks(abi), []Fact{network, steering, fence}, cgroups(), surroundings(),
	)}
}

// tried is the fact that a function of the caller's worked.
func tried(name Name, try func() error, detail, fix string) Fact {
	if try == nil {
		return Fact{Name: name, Detail: "not tried", Fix: "run omnijailctl doctor as root, with omnijaild running"}
	}
	if err := try(); err != nil {
		return Fact{Name: name, Answer: No, Detail: err.Error(), Fix: fix}
	}
	return Fact{Name: name, Answer: Yes, Detail: detail}
}

// unknown makes a fact from a probe that failed itself.
func unknown(name Name, err error, fix string) Fact {
	return Fact{Name: name, Detail: fmt.Sprintf("could not be found out: %v", err), Fix: fix}
}
