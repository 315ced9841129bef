package scout

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// applyMasks hides the masked paths in every grant that shows them. A path that
// does not exist needs no mask, and one that is granted itself stays, unless it is
// omnijail's own.
func (s *session) applyMasks() error {
	for _, m := range s.req.View.Masks {
		f, err := openPath(m.Path)
		absent := errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR)
		switch {
		case err == nil:
			err = s.maskFile(m, f)
		case absent && !m.Own:
			err = nil
		case absent || errors.Is(err, unix.EACCES):
			err = s.outOfReach(m)
		default:
			err = refuse("mask", "cannot look at masked %s%s: %v", m.Path, origin(m.Origin), errors.Unwrap(err))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// outOfReach refuses a mask that cannot be made where the command could make what
// it hides, or make it reachable: something of the caller's below a writable grant.
func (s *session) outOfReach(m child.Mask) error {
	for dir := filepath.Dir(m.Path); ; dir = filepath.Dir(dir) {
		f, err := openPath(dir)
		if err != nil && dir != "/" {
			continue
		}
		if err != nil {
			return err
		}
		p, err := realPath(f)
		f.Close()
		if err != nil {
			return refuse("mask", "cannot find the path of %s: %v", dir, err)
		}
		gs, _ := s.covering(p)
		for _, g := range gs {
			if g.write {
				e := refuse("mask", "%s%s cannot be masked, and the command could make it below %s", m.Path, origin(m.Origin), g.path)
				e.Fix = "mkdir -p " + m.Path + " (outside), or grant less"
				return e
			}
		}
		return nil
	}
}

func (s *session) maskFile(m child.Mask, f *os.File) error {
	defer f.Close()
	st, _, err := stat(f)
	if err != nil {
		return err
	}
	p, err := realPath(f)
	if err != nil {
		return refuse("mask", "cannot find the path of masked %s: %v", m.Path, err)
	}
	return s.maskPath(m, p, st)
}

func (s *session) maskPath(m child.Mask, p string, st unix.Stat_t) error {
	exactly, inner := s.grantedAt(p)
	switch {
	case m.Own && (exactly || inner != ""):
		return refuse("mask", "%s is omnijail's own, which no jail may have", cmp.Or(inner, p))
	case exactly:
		s.notes = append(s.notes, fmt.Sprintf("%s is masked and granted; the grant holds", p))
		return nil
	case inner != "":
		return refuse("mask", "%s is granted but lies below %s, which is masked", inner, p)
	}
	for _, h := range s.hideEverywhere(p, st) {
		if h.grant.path == s.cwd && !m.Own {
			s.masked = append(s.masked, h.name)
		}
	}
	return nil
}

// shown is a name below a grant.
type shown struct {
	grant *grant
	name  string
}

// hideEverywhere hides the path p in each grant that shows it, and returns where it
// was not hidden before.
func (s *session) hideEverywhere(p string, st unix.Stat_t) (fresh []shown) {
	gs, names := s.covering(p)
	for i, g := range gs {
		if g.write {
			holdParents(g, names[i])
		}
		if _, hidden := g.masked.within(names[i]); !hidden {
			s.mask(g, name{name: names[i], dir: isDir(st)}, st)
			fresh = append(fresh, shown{g, names[i]})
		}
	}
	return fresh
}

// holdParents binds the directories between g and the name n onto themselves:
// renaming one of them would carry the protection of n away.
func holdParents(g *grant, n string) {
	for d := filepath.Dir(n); d != "."; d = filepath.Dir(d) {
		g.held.add(name{name: d, dir: true})
	}
}
