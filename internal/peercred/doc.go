// Package peercred says who is at the other end of a Unix socket, in the kernel's
// words: ids, supplementary groups and a pidfd, taken when the peer connected.
//
// Every decision about a caller takes a Caller, and From alone makes one. Whether
// the caller is itself in a sandbox (Confined) or in one of our jails (InCgroup)
// is read through its pidfd: a pid alone may by now belong to somebody else.
//
// CheckServer is the client's half: it sends nothing before the server is root
// and only root can have put the socket where it is.
package peercred
