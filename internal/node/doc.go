// Package node says what this machine can do: facts, each probed once by trying
// rather than by reading version numbers, and what follows from them: which
// guarantees a backend keeps here, and why it does not keep the others.
//
// A fact has three answers. Only yes counts: what could not be found out is as
// good as missing when a policy needs it, and doctor says which of the two it is.
// Every fact whose answer is not yes comes with something to type or to change.
//
// Probe leaves nothing behind. Two of its probes start something real, a network
// namespace and a command in a jail; they are functions of the caller's, because
// what they start lies above this package.
package node
