// Package landlock is the backend for nodes without bubblewrap. It lowers a jail
// to the arguments of omnijail-init reap: Args is pure, Command adds the
// descriptors.
//
// The process starts in new pid, ipc, uts and mount namespaces and makes its own
// cgroup namespace; the network namespace is inherited from the thread that
// starts it. Nothing of the node is in its mount namespace but the staged tree,
// with a fresh /proc. Files are walled off twice, by those mounts, which hide and
// protect what Landlock has no word for, and by Landlock, without which a command
// does not start here.
//
// Where the kernel's Landlock does not keep a process from Unix sockets that have
// a name, init refuses to make any: a pair still works.
package landlock
