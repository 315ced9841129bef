package stage

import (
	"os"
	"slices"

	"github.com/omnijail/omnijail/internal/jail"
)

// Protection is a mount inside a tree of the caller's: what is held, protected,
// hidden or a grant inside another. It goes when somebody outside replaces what it
// stands on.
type Protection struct {
	Path string // in the jail
	Op   Op
	Dir  bool
	Link bool
}

// Protections returns those that the plan makes. names are what Apply gets.
func (p Plan) Protections(names [][]*os.File) (out []Protection) {
	for _, s := range p.Steps {
		switch s.Op {
		case OpHold, OpPin:
			out = append(out, Protection{s.Path, s.Op, s.Dir, p.grants[s.Grant].names[s.Name].Link})
		case OpNest, OpFrame:
			out = append(out, Protection{Path: s.Path, Op: s.Op, Dir: s.Dir})
		case OpHide:
			if names[s.Grant][s.Name] != nil {
				out = append(out, Protection{Path: s.Path, Op: s.Op, Dir: s.Dir})
			}
		}
	}
	return out
}

// Restorable reports whether p can be made anew without the others, which are list:
// it hides something or makes it read-only, and nothing else is mounted below it.
func (p Protection) Restorable(list []Protection) bool {
	if p.Op != OpHide && p.Op != OpPin || p.Link {
		return false
	}
	return !slices.ContainsFunc(list, func(o Protection) bool { return o.Path != p.Path && jail.Within(p.Path, o.Path) })
}
