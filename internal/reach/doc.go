// Package reach opens files outside of a jail by paths that something in a jail has
// written.
//
// To look at a path is not without effect where a directory on the way is autofs's:
// looking for a name there has it mounted, and with a map of hosts the name is that
// of any server. A jail that has its paths looked at from outside would have a way
// out by them. So nothing is looked for there that is not mounted by now.
package reach
