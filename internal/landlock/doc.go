// Package landlock is the wall behind the mounts: a process says which places it
// will use, and from then on the kernel refuses it and what it executes
// everything else, whatever a mount would show.
//
// Lower is pure: it turns a Wall into the ruleset that a kernel of a given ABI
// can hold. Restrict makes and enforces it on the calling thread. A kernel
// refuses rights that it does not know, so each ABI gets its own and no more;
// what an ABI lacks is listed by Gaps.
//
// Rights at a place reach everything below it, and cannot be taken back further
// down: a read-only name inside a writable tree, or a hidden one, is the work of
// a mount. A process behind a wall of files cannot mount anything any more.
package landlock
