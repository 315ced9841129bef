package stage

import (
	"io/fs"

	"github.com/omnijail/omnijail/internal/jail"
)

// Layout is what one command sees. Paths are absolute and cleaned.
type Layout struct {
	User    jail.User
	Home    string   // the scratch home, empty at start; usually User.Home
	System  []System // the node's own directories, read-only
	Files   []File   // composed, owned by root
	Links   []Link   // composed
	Binds   []Bind   // node directories inside the composed trees, read-only
	Covers  []Cover  // files of the system directories in whose place is a composed one
	Masks   []ProcMask
	Grants  []jail.OpenGrant
	Scratch int64 // bytes of the home; 0 is DefaultScratch
	Tmp     int64 // bytes of /tmp; 0 is DefaultTmp
	Shm     int64 // bytes of /dev/shm; 0 is DefaultShm
}

// Sizes of the jail's own file systems in bytes. They are in memory and count
// for what they hold.
const (
	DefaultScratch = 2 << 30
	DefaultTmp     = 2 << 30
	DefaultShm     = 512 << 20
)

// System is a directory that the jail has from the node, or the link that the
// node has in its place.
type System struct {
	Path   string // in the jail
	Source string // on the node; root-owned
	Link   string // target; empty for a directory
}

// File is a regular file of a composed tree. Data is not changed.
type File struct {
	Path string
	Data []byte
	Mode fs.FileMode
}

// Link is a symbolic link of a composed tree.
type Link struct{ Path, Target string }

// Bind is a root-owned directory of the node in a composed tree.
type Bind struct{ Source, Path string }

// Cover is a file of a system directory, by its canonical path, in whose place the
// jail has a composed File. One that is not there is left out.
type Cover struct{ Path, File string }

// ProcMask is a name below /proc that is covered by something empty.
type ProcMask struct {
	Path string
	Dir  bool
}
