// Package caller is the daemon's side of the scout, the child that becomes the
// caller so that root never looks at a user's files.
//
// Open starts one, or asks one that Start made ahead of time, hands it the request (and the client's connection when stdio
// is passed) and returns what it opened: O_PATH descriptors of the grants and
// pins, vetted stdio, sealed secrets. Resolve lends it the staged trees and gets a
// descriptor per name to mask or protect below them. ResolveSource has the value
// of a credential written from a file or a command into a pipe that the daemon
// passes on unread. StartWatch has one watch for new names while a command runs.
//
// A scout is worth as much as the caller's own word, and may hang for ever on a
// file system of the caller's. So every answer is bounded and checked for shape,
// no file system is asked about a descriptor, every wait has a deadline, and the
// scout's cgroup is killed at the end. One that does not die is left behind and
// counted; a uid with four such is refused until they are gone.
package caller
