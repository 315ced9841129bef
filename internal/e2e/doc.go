// Package e2e runs the real programs against each other: omnijaild on a socket
// of its own, omnijailctl as unprivileged users, bwrap, namespaces, and the lab's
// upstream on loopback. Its tests are the promises of the documentation, each
// seen from where it matters: from inside a jail, from another user, from the
// upstream, or from what is left afterwards.
//
// A Node is one daemon with its own directories, users and upstream. Nothing of
// the machine's own omnijail, if there is one, is touched.
package e2e
