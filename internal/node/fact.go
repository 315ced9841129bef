package node

import (
	"fmt"
	"slices"
)

// Answer is what a probe found out. The zero value is Inconclusive.
type Answer uint8

// The answers.
const (
	Inconclusive Answer = iota
	No
	Yes
)

var answers = []string{Inconclusive: "inconclusive", No: "no", Yes: "yes"}

// String returns "yes", "no" or "inconclusive".
func (a Answer) String() string {
	if int(a) < len(answers) {
		return answers[a]
	}
	return fmt.Sprintf("Answer(%d)", a)
}

// MarshalText implements encoding.TextMarshaler.
func (a Answer) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *Answer) UnmarshalText(b []byte) error {
	i := slices.Index(answers, string(b))
	if i < 0 {
		return fmt.Errorf("not yes, no or inconclusive: %.32q", b)
	}
	*a = Answer(i)
	return nil
}

// Name names a fact.
type Name string

// The facts.
const (
	Root        Name = "root"          // root in the initial user namespace
	Bwrap       Name = "bwrap"         // a bubblewrap that root may run
	BwrapUsable Name = "bwrap_options" // it has the options that are used
	Drop        Name = "drop"          // a command in a real jail ends up without any privilege
	Bare        Name = "drop_landlock" // the same without bwrap
	MountByFD   Name = "mount_by_fd"   // open_tree, move_mount, mount_setattr
	SafeOpen    Name = "safe_open"     // openat2
	Pidfd       Name = "pidfd"         // processes by descriptor
	DevPTS      Name = "devpts"        // a terminal file system of a jail's own
	Seccomp     Name = "seccomp"       // filters, on all threads at once
	Landlock    Name = "landlock"      // the second wall of the egress process
	Wall        Name = "wall"          // the second wall of jails
	Fence       Name = "fence"         // the kernel's guard of addresses, around egress processes
	Network     Name = "network"       // a namespace with our sockets
	Steering    Name = "steering"      // each of its connections comes to them, whatever its port
	KillGroup   Name = "kill_group"    // a cgroup per command
	CgroupV2    Name = "cgroup_v2"     // cgroup v2, wherever it is mounted
	Memory      Name = "memory_limit"  // a controller for memory
	Swap        Name = "swap_limit"    // swap is counted
	Pids        Name = "pids_limit"    // a controller for processes
	CPU         Name = "cpu_limit"     // a controller for processor time
	NodeMounts  Name = "node_mounts"   // the node's own mount namespace
	CoreLimit   Name = "core_limit"    // the limit that keeps core handlers away from jails
	PeerPidfd   Name = "peer_pidfd"    // the caller's process by descriptor
)

// Fact is one thing about this node.
type Fact struct {
	Name   Name   `json:"name"`
	Answer Answer `json:"answer"`
	Detail string `json:"detail,omitempty"` // what was seen
	Fix    string `json:"fix,omitempty"`    // what to do; never empty unless the answer is yes
}

// Facts is all that was found out about this node.
type Facts struct {
	Facts       []Fact `json:"facts"`
	LandlockABI int    `json:"landlock_abi"` // 0 without Landlock
}

// Get returns a fact; one that was never probed is inconclusive.
func (f Facts) Get(name Name) Fact {
	i := slices.IndexFunc(f.Facts, func(fact Fact) bool { return fact.Name == name })
	if i < 0 {
		return Fact{Name: name, Detail: "not probed", Fix: "omnijailctl doctor"}
	}
	return f.Facts[i]
}
