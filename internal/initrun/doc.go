// Package initrun is omnijail-init run, the last of our code in a jail. The
// backend starts it as root without an environment and with three capabilities;
// it becomes the caller for good and executes the command.
//
// It is called as "run CHANNEL", the number of the socket to the daemon. It says
// ready with a pidfd of itself, waits for the go, which brings the sealed launch
// record and the command's descriptors, resets what a child of a root service inherits, drops
// groups, ids and capabilities, reads them back, walls off with Landlock what was
// not granted, installs the system call filter, puts the standard descriptors in
// place and executes. The order matters: each step takes away a right that the
// steps before it needed.
//
// All of it runs on the process's main thread, which must be locked, with raw
// system calls: the runtime's other threads keep root until execve ends them,
// and no code of ours runs on them.
package initrun
