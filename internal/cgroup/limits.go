package cgroup

import "errors"

// ErrNoController is wrapped by SetLimits when no mounted hierarchy can enforce a
// limit.
var ErrNoController = errors.New("this node has no cgroup controller for it (under systemd: Delegate=yes)")

// Usage is what a group has used of its limits.
type Usage struct {
	MemoryPeak int64 // bytes; 0 where nobody counts
	OOMKills   int64 // processes that the kernel killed for want of memory
	PidsDenied int64 // forks that were refused
}

// Limits bound a whole group. Zero is no limit.
type Limits struct {
	Memory int64 // bytes, swap included
	Pids   int64 // processes and threads
	CPU    int64 // thousandths of a processor
}
