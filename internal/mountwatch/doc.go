// Package mountwatch sees that the mounts which hide and protect files in a jail
// are still there.
//
// A mount on a file stands on that file and not on its name: when something
// outside renames another file over the name, or removes it, the kernel takes
// the mount away in every namespace, and the jail sees what is new without a
// word. The kernel tells of it in one place, the mount table of a process in that
// namespace. One epoll and one goroutine hold the tables of all jails.
//
// A table is compared with what it held at the start, by the kernel's number of
// each mount. Its text is cut at blanks and no further: the paths in it, which
// somebody else may have chosen, are compared in the kernel's own spelling and
// never decoded.
package mountwatch
