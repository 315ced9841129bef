// Package suggest turns what a jail was refused into additions to its policy.
//
// It proposes little: a rule never has a method, a host or a scheme that was not
// asked for, and paths are made general only where several of one form were seen.
// Whatever a jail wrote is hostile. A host that was first seen in a refused write
// is not proposed at all, since that is how data would leave; neither is a file
// that holds credentials. What is left out is named, with the reason.
package suggest
