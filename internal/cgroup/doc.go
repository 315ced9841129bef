// Package cgroup gives each command a control group of its own, so that
// everything it started can be killed at once whatever it did, and its memory and
// number of processes can be bounded.
//
// A Hierarchy is what the node has mounted: cgroup v2 wherever it is, the v1
// hierarchies beside it, or only those. An Instance is the subtree of one daemon:
// below its own cgroup where systemd has delegated that (Delegate=yes), else at
// the root, always called omnijail-ID. A Group is a leaf for one command. Nothing
// outside an Instance's subtree is ever changed, but for the controllers that are
// enabled in a delegated cgroup, and the daemon's own move into a child of it,
// which v2 asks for before it allows that.
//
// A command is started in its group by descriptor where there is v2
// (SysProcAttr.CgroupFD with Dir), and by Enter on the starting thread for what
// v1 has to say. Kill uses cgroup.kill; without it the group is frozen, each
// member is killed through a descriptor of its process whose cgroup is read again
// after it was opened, and the group is thawed. A process number that somebody
// wrote down earlier is never used.
package cgroup
