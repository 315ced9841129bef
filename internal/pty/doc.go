// Package pty makes the terminals of a jail. Each jail has a devpts instance of
// its own, so that no terminal of the node is ever visible inside, and so that
// /dev/pts/0 can be reopened by name as programs expect.
package pty
