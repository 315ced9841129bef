package scout

import (
	"path"
	"strings"
)

// surveyed is a directory that was looked through, and what was found in it.
type surveyed struct {
	parent      *surveyed // nil for the grant itself
	name        string
	wd          int32   // the number of its watch, -1 for none
	part        gitPart // where in a git directory
	apart       bool
	packages    bool
	below       map[string]*surveyed
	stale, gone bool
	listing
}

func (p *surveyed) depth() (n int) {
	for ; p.parent != nil; p = p.parent {
		n++
	}
	return n
}

// rel is the name of p below its grant, "." for the grant itself, and how many
// directories below it.
func (p *surveyed) rel() (name string, depth int) {
	var names []string
	for at := p; at.parent != nil; at = at.parent {
		names = append(names, at.name)
	}
	if len(names) == 0 {
		return ".", 0
	}
	var b strings.Builder
	for i := len(names) - 1; i >= 0; i-- {
		b.WriteString(names[i])
		if i > 0 {
			b.WriteByte('/')
		}
	}
	return b.String(), len(names)
}

// folder is p as a walk comes upon it.
func (p *surveyed) folder() folder {
	name, depth := p.rel()
	return folder{name: name, depth: depth, git: p.part, apart: p.apart, packages: p.packages, parent: p.parent, place: p}
}

// same says that a directory is to be judged as p was.
func (p *surveyed) same(f folder) bool {
	return p.part == f.git && p.apart == f.apart && p.packages == f.packages
}

// at returns the place called name below p, nil if it is not known.
func (p *surveyed) at(name string) *surveyed {
	for part := range strings.SplitSeq(path.Clean(name), "/") {
		if part == "." {
			continue
		}
		if p = p.below[part]; p == nil {
			return nil
		}
	}
	return p
}
