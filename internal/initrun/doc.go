// Package initrun is omnijail-init run, the last of our code in a jail. The
// backend starts it as root without an environment and with three capabilities;
// it becomes the caller for good and executes the command.
//
// It is called as "run CHANNEL [FILTER]", with the number of the socket to the daemon
// and the name of the jail's system call filter, without one where a policy gives
// isolation away. Before there is a command it resets what a child of a root service
// inherits, gives new privileges up and installs the filter. Then it says ready with a
// pidfd of itself and waits for the go, which brings the sealed launch record and the
// command's descriptors. It drops groups, ids and capabilities, reads them back, walls
// off with Landlock what was not granted, puts the standard descriptors in place and
// executes. The order matters: each step takes away a right that the steps before it
// needed, and the filter one that none after it needs.
//
// All of it runs on the process's main thread, which must be locked, with raw
// system calls: the runtime's other threads keep root until execve ends them,
// and no code of ours runs on them.
package initrun
