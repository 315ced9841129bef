// Package daemon is the Manager: it joins the mechanisms into jails, keeps the
// table of live ones, and sees that nothing of one stays behind.
//
// One exec reads like this (exec.go): a scout opens what the policy names, as
// the caller; a network namespace comes from the pool and its sockets go to the
// caller's egress process, which answers with placeholders and a CA; the file
// system is staged by descriptor; a spawner thread starts the backend's command
// in the exec's own cgroup; init inside says ready, waits for go, and becomes the
// command. Each step has its undoing on one cleanup stack.
//
// The Manager holds no secret, and interprets no byte of a jail or an egress
// process beyond the fixed frames of internal/egressd/wire.
package daemon
