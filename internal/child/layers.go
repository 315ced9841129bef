package child

import (
	"path"
	"slices"
)

// Layer is a directory of a grant that is mounted anew onto itself, with names
// below it that are found in that mount. It is mounted before those.
type Layer struct {
	Name     int  // which of Names
	ReadOnly bool // itself, or a directory above it
}

// Names returns the names of g in the order in which their descriptors travel:
// held, read-only, masked.
func (g *OpenGrant) Names() []OpenName {
	return slices.Concat(g.Held, g.ReadOnly, g.Masked)
}

// Layers returns the layers of g, and for each of its names the index of the layer
// that it lies in, the innermost; -1 is the tree of the grant itself. The daemon
// and the scout both ask, and get the same answer.
func (g *OpenGrant) Layers() (layers []Layer, in []int) {
	names := g.Names()
	dirs := make(map[string]int, len(names)) // to the index of the name
	for i, n := range names[:len(g.Held)+len(g.ReadOnly)] {
		if n.Dir {
			dirs[n.Name] = i
		}
	}
	made := map[int]int{} // from the index of the name to that of the layer
	in = make([]int, len(names))
	for i, n := range names {
		in[i] = -1
		for up := path.Dir(n.Name); up != "." && up != "/"; up = path.Dir(up) {
			at, ok := dirs[up]
			if !ok {
				continue
			}
			if _, ok := made[at]; !ok {
				made[at] = len(layers)
				layers = append(layers, Layer{at, g.readOnlyAt(dirs, up)})
			}
			in[i] = made[at]
			break
		}
	}
	return layers, in
}

// readOnlyAt reports whether the directory n, or one above it, is read-only.
func (g *OpenGrant) readOnlyAt(dirs map[string]int, n string) bool {
	for ; n != "." && n != "/"; n = path.Dir(n) {
		if at, ok := dirs[n]; ok && at >= len(g.Held) {
			return true
		}
	}
	return false
}
