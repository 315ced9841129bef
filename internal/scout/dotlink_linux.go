package scout

import (
	"path/filepath"
	"strings"
)

// judgeLink hides what a dot entry leads to where its name says that it carries
// secrets: .env as a link to config/env is config/env, in whichever grant that lies.
// Each link on the way stays as it is where the command may write, or the next command
// would not find what to hide. What is granted itself is not hidden, and a link out of
// the grants leads nowhere in the jail either: nothing there is looked at, since a
// command may have made the link.
func (s *session) judgeLink(g *grant, dot string) error {
	full := filepath.Join(g.path, dot)
	p := full
	for range maxLinks {
		at, n := s.innermost(p)
		if at == nil || n == "" {
			return nil
		}
		link, err := firstLink(at.file, n)
		switch {
		case absent(err):
			return nil
		case err != nil:
			return refuse("hidden", "cannot find where %s leads: %v", full, cause(err))
		case link == "":
			return s.hideTarget(g, dot, at, n)
		}
		if at.write {
			if err := s.protect(at, link); err != nil {
				return err
			}
		}
		target, err := readLink(at.file, link)
		if err != nil {
			return refuse("hidden", "cannot find where %s leads: %v", full, err)
		}
		p = filepath.Join(absoluteIn(filepath.Dir(filepath.Join(at.path, link)), target), strings.TrimPrefix(n, link))
	}
	return nil // in a circle
}

// innermost returns the grant that shows p, and what p is called there.
func (s *session) innermost(p string) (g *grant, n string) {
	for _, at := range s.grants {
		for _, root := range append([]string{at.path}, at.asked...) {
			if rel, ok := below(root, p); ok {
				g, n = at, rel
			}
		}
	}
	return g, n
}

// hideTarget hides n in at, to which the entry dot of g leads.
func (s *session) hideTarget(g *grant, dot string, at *grant, n string) error {
	p := filepath.Join(at.path, n)
	st, err := lstat(at.file, n)
	if err != nil {
		return refuse("hidden", "%s changed while it was looked at", p)
	}
	if exactly, inner := s.grantedAt(p); exactly || inner != "" {
		return nil
	}
	s.hideEverywhere(p, st)
	if g.path == s.cwd {
		s.hidden = append(s.hidden, dot)
	}
	return nil
}
