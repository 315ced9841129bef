// Package caches keeps the directories in which tools in a jail keep what they
// have fetched and built, from one command to the next: one tree for each caller,
// policy and workspace.
//
// A tree lies below a directory that is root's and that nobody else may enter, so
// that no path leads there: a jail has the directories of its own tree as mounts,
// made from descriptors. The tree itself is root's too. Only the directories in it
// (Dirs) belong to the user that the jail runs as, and what is in them is never
// read, walked or removed here: that is for a process of the user's.
//
//	DIR/UID/ID/about.json   who has it, what for, how large it was
//	DIR/UID/ID/d/NAME       a directory of the user's, "/" in its name as "+"
//	DIR/UID/trash/…         trees that are being removed
//
// Whoever uses a tree holds a shared lock on DIR/UID/ID; who takes it away, an
// exclusive one.
package caches
