package stage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/omnijail/omnijail/internal/jail"
)

// framing is a covered name of a grant with something to be seen below it.
type framing struct{ grant, name int }

// frame plans grant i, which lies in the grant outer, when a name above it is
// covered there: what covers the name has a place for it and for nothing else. It
// reports whether it did.
func (p *planner) frame(i, outer int) (bool, error) {
	g := p.layout.Grants[i]
	rel := strings.TrimPrefix(g.Path, p.layout.Grants[outer].Path+"/")
	if p.depth(outer) > 0 {
		return false, fmt.Errorf("%s cannot be granted: it lies in %s, which is shown above a mask", g.Path, p.layout.Grants[outer].Path)
	}
	for n, name := range names(p.layout.Grants[outer]) {
		place, below := strings.CutPrefix(rel, name.Name+"/")
		if name.op != OpHide || !name.Dir || !below {
			continue
		}
		at := framing{outer, n}
		p.framed[at] = append(p.framed[at], Inner{Grant: i, Place: place, Dir: g.Dir})
		return true, nil
	}
	return false, nil
}

// depth is 1 for a grant in a frame, else 0.
func (p *planner) depth(i int) int {
	for _, inner := range p.framed {
		if slices.ContainsFunc(inner, func(in Inner) bool { return in.Grant == i }) {
			return 1
		}
	}
	return 0
}

// underMask reports whether a directory above the name n is covered, so that
// nothing has to be done about n itself.
func underMask(list []name, n string) bool {
	return slices.ContainsFunc(list, func(m name) bool {
		return m.op == OpHide && m.Dir && m.Name != n && jail.Within(m.Name, n)
	})
}
