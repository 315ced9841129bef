package stage

import (
	"fmt"
	"io/fs"
)

// Op is what a step does.
type Op string

// The operations. Paths are in the jail unless said otherwise.
const (
	OpDir    Op = "dir"    // make a directory
	OpFile   Op = "file"   // make a file with Data
	OpLink   Op = "link"   // make a link to Target
	OpTmpfs  Op = "tmpfs"  // mount an empty file system of Size bytes
	OpDevice Op = "device" // bind the node's device of the same path
	OpPts    Op = "pts"    // attach the jail's own devpts
	OpBind   Op = "bind"   // bind the root-owned Target of the node, read-only
	OpCover  Op = "cover"  // bind the file Target of the jail, read-only, over a file of the node's, where that is
	OpGrant  Op = "grant"  // attach the tree of Grant
	OpNest   Op = "nest"   // attach the tree of Grant onto the name Name of grant Outer
	OpHold   Op = "hold"   // bind the name onto itself, so that no parent of a protected name is renamed
	OpPin    Op = "pin"    // bind the name onto itself, read-only
	OpHide   Op = "hide"   // cover the name with something empty
	OpFrame  Op = "frame"  // cover the name with places for the trees of Inner, and attach them
)

// Step is one step. Grant, Outer and Name are indexes into the Layout's grants
// and into the names of one, in the order held, read-only, masked.
type Step struct {
	Op     Op
	Path   string
	Target string
	Data   []byte
	Mode   fs.FileMode // permissions, sticky bit included
	UID    uint32
	GID    uint32
	Size   int64
	Grant  int
	Outer  int
	Name   int
	Dir    bool
	Inner  []Inner
}

// Inner is a grant below a name that is otherwise covered.
type Inner struct {
	Grant int
	Place string // relative to the name
	Dir   bool
}

// stepKey names a step among those of one plan.
type stepKey struct {
	op   Op
	path string
}

// makes reports whether the step makes a name, where nothing is mounted yet.
func (s Step) makes() bool { return s.Op == OpDir || s.Op == OpFile || s.Op == OpLink }

func (s Step) key() stepKey { return stepKey{s.Op, s.Path} }

// String returns the step as one line.
func (s Step) String() string {
	switch s.Op {
	case OpDir:
		return fmt.Sprintf("dir %s %v%s", s.Path, s.Mode, s.owner())
	case OpFile:
		return fmt.Sprintf("file %s %v %d bytes%s", s.Path, s.Mode, len(s.Data), s.owner())
	case OpLink:
		return fmt.Sprintf("link %s -> %s", s.Path, s.Target)
	case OpTmpfs:
		return fmt.Sprintf("tmpfs %s %v size %d%s", s.Path, s.Mode, s.Size, s.owner())
	case OpBind:
		return fmt.Sprintf("bind %s from %s", s.Path, s.Target)
	case OpCover:
		return fmt.Sprintf("cover %s with %s", s.Path, s.Target)
	case OpGrant:
		return fmt.Sprintf("grant %s tree %d", s.Path, s.Grant)
	case OpNest:
		return fmt.Sprintf("nest %s tree %d onto name %d of tree %d", s.Path, s.Grant, s.Name, s.Outer)
	case OpHold, OpPin, OpHide:
		return fmt.Sprintf("%s %s name %d of tree %d", s.Op, s.Path, s.Name, s.Grant)
	case OpFrame:
		return fmt.Sprintf("frame %s name %d of tree %d for %v", s.Path, s.Name, s.Grant, s.Inner)
	}
	return fmt.Sprintf("%s %s", s.Op, s.Path)
}

func (s Step) owner() string {
	if s.UID == 0 && s.GID == 0 {
		return ""
	}
	return fmt.Sprintf(" owner %d:%d", s.UID, s.GID)
}
