// Package jail is the vocabulary of the local confinement: what a jail is, what
// it may see, and what a backend promises. It holds no mechanism: nothing in
// here opens a file, starts a process or asks the node a question.
//
// The life of a jail reads as a chain of values. policy.Compile makes a Spec.
// The scout, a child that has become the caller, answers an OpenRequest with an
// OpenReply and file descriptors. The egress process answers with an Overlay.
// A Backend lowers the three to a Cmd, and the spawner starts the Cmd, whose
// last step inside (omnijail-init run) applies a Launch.
package jail
