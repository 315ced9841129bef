package scout

import (
	"path"
	"slices"

	"github.com/omnijail/omnijail/internal/child"
)

// name is a name below a grant, exactly as the file system has it. A link is
// named for itself, not for what it leads to.
type name struct {
	name string
	dir  bool
	link bool
}

// nameSet is a list of names, each once.
type nameSet struct {
	list []name
	seen map[string]bool
}

// add puts n into the set unless it is there.
func (s *nameSet) add(n name) {
	if s.seen[n.name] {
		return
	}
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	s.seen[n.name] = true
	s.list = append(s.list, n)
}

// within returns the name of the set that is n or a directory above it.
func (s *nameSet) within(n string) (string, bool) {
	for len(s.seen) > 0 {
		if s.seen[n] {
			return n, true
		}
		up := path.Dir(n)
		if up == n || up == "." {
			break
		}
		n = up
	}
	return "", false
}

// drop takes the name n out.
func (s *nameSet) drop(n string) {
	s.keep(func(m name) bool { return m.name != n })
}

// keep drops the names that ok is false for.
func (s *nameSet) keep(ok func(name) bool) {
	s.list = slices.DeleteFunc(s.list, func(n name) bool {
		if ok(n) {
			return false
		}
		delete(s.seen, n.name)
		return true
	})
}

func (s *nameSet) reply() (out []child.OpenName) {
	for _, n := range s.list {
		out = append(out, child.OpenName{Name: n.name, Dir: n.dir, Link: n.link})
	}
	return out
}
