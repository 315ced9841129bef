package cgroup

import "errors"

// ErrNoController is wrapped by SetLimits when no mounted hierarchy can enforce a
// limit.
var ErrNoController = errors.New("this node has no cgroup controller for it (under systemd: Delegate=yes)")

// Limits bound a whole group. Zero is no limit.
type Limits struct {
	Memory int64 // bytes, swap included
	Pids   int64 // processes and threads
}
