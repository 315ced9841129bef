// Package selftest is the escape suite: named attempts to get out of a jail, made
// from inside it, on this node and under a given policy.
//
// An Attempt says what it tries, what must happen and which guarantee it tests.
// Run plants what is worth reaching outside of every grant (a file, sockets, a
// process, shared memory), starts jails through the daemon's ordinary API, has
// the same program make the attempts in there (Probe), looks at what is left when
// they are over, and reports per guarantee.
//
// An attempt has one of three ends. Refused: what must happen did. Succeeded: an
// escape, or something that was not refused as it must be. NotRun: it could not
// be made here, with the reason; that is never counted as passed.
//
// An attempt that nothing could ever let succeed would prove nothing, so the
// package's tests make each of them without a jail, as root in namespaces of
// their own, where it has to succeed. Those for which that is impossible say why
// in Attempt.NoControl.
package selftest
