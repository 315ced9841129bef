package cgroup

import "errors"

// ErrNoController is wrapped by SetLimits, in a MissingError, when no mounted
// hierarchy can enforce a limit.
var ErrNoController = errors.New("this node has no cgroup controller for it (under systemd: Delegate=yes)")

// MissingError names the controller that a limit lacks: memory, pids or cpu.
type MissingError struct{ Controller string }

// Error implements error.
func (e *MissingError) Error() string {
	return "limit " + e.Controller + ": " + ErrNoController.Error()
}

// Unwrap returns ErrNoController.
func (e *MissingError) Unwrap() error { return ErrNoController }

// ErrNoSwap is wrapped by SetLimits when this node bounds memory without counting
// what of it is in swap.
var ErrNoSwap = errors.New("this node does not count swap (boot with swapaccount=1)")

// Usage is what a group has used of its limits.
type Usage struct {
	MemoryPeak int64 // bytes; 0 where nobody counts
	OOMKills   int64 // processes that the kernel killed for want of memory
	PidsDenied int64 // forks that were refused
}

// Limits bound a whole group. Zero is no limit.
type Limits struct {
	Memory int64 // bytes, swap included but for Swap
	Swap   int64 // bytes of swap besides Memory, which must be set; zero is none
	Pids   int64 // processes and threads
	CPU    int64 // thousandths of a processor
}
