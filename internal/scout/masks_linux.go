package scout

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// applyMasks hides the masked paths in every grant that shows them. A path that
// the caller cannot reach needs no mask, and one that is granted itself stays.
func (s *session) applyMasks() error {
	for _, m := range s.req.View.Masks {
		f, err := openPath(m.Path)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) {
			continue
		}
		if err != nil {
			return refuse("mask", "cannot look at masked %s%s: %v", m.Path, origin(m.Origin), errors.Unwrap(err))
		}
		st, _, err := stat(f)
		if err != nil {
			return err
		}
		p, err := realPath(f)
		f.Close()
		if err != nil {
			return refuse("mask", "cannot find the path of masked %s: %v", m.Path, err)
		}
		if err := s.maskPath(p, st); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) maskPath(p string, st unix.Stat_t) error {
	exactly, inner := s.grantedAt(p)
	if exactly {
		s.notes = append(s.notes, fmt.Sprintf("%s is masked and granted; the grant holds", p))
		return nil
	}
	gs, names := s.covering(p)
	if inner != "" && len(gs) > 0 {
		return refuse("mask", "%s is granted but lies below %s, which is masked", inner, p)
	}
	for i, g := range gs {
		if _, hidden := within(g.masked, names[i]); !hidden {
			s.mask(g, name{names[i], isDir(st)}, st)
		}
	}
	return nil
}

// holdParents binds the directories between g and the name n onto themselves:
// renaming one of them would carry the protection of n away.
func holdParents(g *grant, n string) {
	for d := filepath.Dir(n); d != "."; d = filepath.Dir(d) {
		add(&g.held, name{d, true})
	}
}
