// Package stage builds the file system of a jail out of descriptors.
//
// Plan turns a Layout (what the scout found, what was composed, which system
// directories the node has) into steps; it is pure. Apply takes the steps on a
// spawner thread, in a mount namespace that was made for one start, and ends
// with that namespace holding nothing else: an empty root of ours, in it /root,
// which becomes the jail's root, and the node's /proc for the backend.
//
// No path is ever resolved in a tree that a user can write. A grant is cloned
// from the O_PATH descriptor that the scout opened as the caller (CloneTree); a
// name below it is the descriptor that the scout resolved below that clone, and
// lies on the clone's own mount or is refused. Everything else goes into file
// systems made here a moment ago. Grants come last, where nothing of ours can
// be put over or under them by whoever owns them.
//
// Nothing is mounted in the node's namespace, and nothing is created on a disk.
package stage
