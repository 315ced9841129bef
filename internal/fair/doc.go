// Package fair divides the processor time of one process among those that it serves.
//
// Who serves waits for its Share before each piece of work. While one Share alone has
// work nobody waits. Else all of them together get a part of the node's processors, so
// that a piece that comes finds one that is idle: a Share that uses less than its part
// never waits, and what is left goes to those that ask for more, one after the other.
//
// Pieces are announced as what they would take; what they take on this machine is
// measured, for all of them together.
package fair
