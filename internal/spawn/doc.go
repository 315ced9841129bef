// Package spawn starts jails. A jail's first process must begin in the network
// namespace and the mount namespace that were made for it, and it must die with
// the daemon; both hang on the thread that forks it. A Pool therefore keeps
// threads that live as long as the daemon, enter the namespaces of one start
// after the other, and go back to the node's own.
//
// What is started has an empty environment, is executed by descriptor, and has
// /dev/null on its standard descriptors but for a bounded pipe on 2. The
// command's own arguments, variables and descriptors travel past it to
// omnijail-init run, which a Channel talks to: it reports ready with a pidfd of
// itself, waits for go, and says what failed if the command did not start.
package spawn
