// Package bpf holds the kernel program that steers a jail's connections. It is a
// sk_lookup program: when a TCP connection arrives in the namespace the kernel
// asks it for the socket before it looks at any listener of the jail's own, so a
// jail that binds the wanted address and port never sees the connection.
//
// Loopback destinations are left to the jail. Everything else goes to the one
// listener of its family, and is refused once that listener is gone: the
// program never falls back to an ordinary lookup.
package bpf
