// Package bwrap is the backend that every Linux node with bubblewrap uses. It
// lowers a jail to a bwrap command line: Args is pure, Command adds the
// descriptors.
//
// bwrap is started by root without a user namespace. It makes the pid, ipc, uts,
// cgroup and mount namespaces, mounts /proc, stays as process 1 and reaps; the
// network namespace is inherited from the thread that starts it. The files come
// ready-made from internal/stage as one tree. What bwrap executes is
// omnijail-init, with just the three capabilities that it needs to become the
// caller.
//
// bwrap itself runs from a sealed memory file that is filled once at start: a
// name on a disk could be replaced, and AppArmor profiles that attach to the
// path would take those three capabilities away from it.
package bwrap
