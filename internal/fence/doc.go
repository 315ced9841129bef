// Package fence is the kernel's wall around egress processes. What a process's own
// guard refuses (internal/guard) the kernel refuses too, by programs on the
// process's cgroup (netns/bpf), so that whoever takes the process over reaches
// neither a metadata service nor the node's own servers.
//
// It repeats no policy: it knows which addresses are closed, and of each jail what
// is opened to its process beyond that. What the process may reach at all is any
// public address, its resolvers, and the openings of all its jails together; which
// of them for whom is the guard's to say.
package fence
