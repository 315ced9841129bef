// Package none is what runs a command without isolating it, for policies with
// weaken: [no_isolation]. Nothing is staged and nothing is entered: omnijail-init
// run gives every privilege up, becomes the caller and executes the command where
// the daemon is, in a cgroup with the policy's limits.
package none
