// Package bpf holds the programs that run in the kernel.
//
// One steers a jail's connections. It is a sk_lookup program: when a TCP connection arrives in the namespace the kernel
// asks it for the socket before it looks at any listener of the jail's own, so a
// jail that binds the wanted address and port never sees the connection.
//
// Loopback destinations are left to the jail. Everything else goes to the one
// listener of its family, and is refused once that listener is gone: the
// program never falls back to an ordinary lookup.
//
// The other is the fence around an egress process: cgroup programs that see each
// destination before the kernel uses it, and refuse with EPERM what the process's
// own guard would refuse, also when that guard is no longer its own.
package bpf
