package jail

import "github.com/omnijail/omnijail/internal/child"

// User is who the command runs as. It is never uid 0 or gid 0.
type User = child.User

// View is what the jail may see of the caller's files: patterns and names, no
// resolved path. A scout resolves it as the caller.
type View = child.View

// Grant gives one file or directory of the caller to the jail, at its own path.
type Grant = child.Grant

// Mask hides one path below a grant behind an empty file or directory of ours.
type Mask = child.Mask

// Protect names what is not writable in a writable grant: an absolute path, in
// which a component may be a glob and "**" stands for any number of them, or a
// glob on one name at any depth.
type Protect = child.Protect

// Pin is a file that the jail may read where it is granted and never write.
type Pin = child.Pin
