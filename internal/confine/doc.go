// Package confine is the cage of an egress process: omnijail-init runs it as
// root in new mount and process namespaces, and it ends by executing the egress
// process, which can then read two directories, use the network, and nothing else.
//
// In order: a private root, an empty read-only tmpfs with the node's /etc and
// /run/systemd/resolve bound read-only and without /proc; limits; the identity of
// the egress user, with no group but its own and no capability in any set, read
// back; no_new_privs; Landlock, where the kernel has it. The executable is a
// descriptor, because nothing in the root leads to it, and the environment is one
// fixed word. The egress process itself adds the filter of system calls.
//
// It takes descriptor 3 as the socket to the daemon and descriptor 4 as the
// executable. Every step must succeed; what fails ends it with exit code 125.
package confine
