// Package reaper is omnijail-init reap: process 1 of a jail on a node without
// bubblewrap. The spawner starts it as root in new pid, ipc, uts and mount
// namespaces, on a root that internal/stage has made; the network namespace is
// inherited.
//
// It makes the cgroup namespace, mounts a fresh /proc, covers and closes the
// parts of it that no jail may see or write, and leaves everything else of the
// node behind. Then it keeps three capabilities, installs the outer system call
// filter on all its threads, starts omnijail-init run, gives up what is left and
// reaps until that process, by then the command, ends. Its exit is one line on
// the status descriptor; with process 1 the kernel ends all others.
//
// It is called as "reap INIT LAUNCH CHANNEL STATUS FILTER" with four descriptor
// numbers and the name of a filter, followed by what to do with the files; see
// Parse.
package reaper
