// Package egressd is the egress process: the one place that parses what jails
// send, holds the secrets of one calling uid and dials out for it. The daemon
// starts it in a cage (internal/confine), talks to it over one socket
// (internal/egressd/wire) and believes nothing it says.
//
// Run hardens the process, installs the system call filter and then serves that
// socket. A jail arrives as a Spec and four sockets made in its network
// namespace; from then on its DNS stub and its proxy run here, each with a CA, a
// table of credentials and a set of synthetic addresses of its own. Values of
// credentials arrive as descriptors and are read here for the first time.
//
// Nothing leaves without an auditor: a request is dialled only after the daemon
// has acknowledged its record, and when the socket ends, the process ends with
// everything it holds.
package egressd
