package scout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// pin is a file that no grant may make writable.
type pin struct {
	file *os.File
	path string // canonical
	id   inode
	pos  position
}

// openPins opens the pins that exist and makes each read-only in every writable
// grant that shows it, under whatever name a mount gives it there.
func (s *session) openPins() error {
	for _, req := range s.req.View.Pins {
		f, err := openPath(req.Path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return refuse("pin", "cannot open %s as you%s: %v", req.Path, origin(req.Origin), errors.Unwrap(err))
		}
		p, err := s.openPin(f)
		if err != nil {
			return refuse("pin", "cannot protect %s%s: %v", req.Path, origin(req.Origin), err)
		}
		s.pins = append(s.pins, p)
		for _, g := range s.grants {
			if err := s.pinIn(g, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *session) openPin(f *os.File) (p pin, err error) {
	p.file = f
	st, id, err := stat(f)
	if err != nil {
		return p, err
	}
	p.id = id
	if p.path, err = realPath(f); err != nil {
		return p, err
	}
	s.noteHardLinks(p.path, st, false)
	p.pos, err = s.mounts.position(f, p.path)
	return p, err
}

// pinIn protects p in g. A grant of the file itself loses its write.
func (s *session) pinIn(g *grant, p pin) error {
	if !g.write {
		return nil
	}
	if g.id == p.id {
		g.write = false
		s.notes = append(s.notes, fmt.Sprintf("%s stays read-only: the policy in force depends on it", g.path))
		return nil
	}
	if !g.dir {
		return nil
	}
	if n, ok := below(g.path, p.path); ok {
		if !sameFile(g, n, p.id) {
			return refuse("pin", "%s changed while it was opened, or lies on a mount of its own below %s", p.path, g.path)
		}
		return s.protect(g, n)
	}
	pos, err := s.mounts.position(g.file, g.path)
	if err != nil {
		return refuse("pin", "cannot tell whether %s shows %s: %v", g.path, p.path, err)
	}
	if n, ok := below(pos.path, p.pos.path); ok && pos.dev == p.pos.dev && sameFile(g, n, p.id) {
		return s.protect(g, n)
	}
	return nil
}

// sameFile reports whether n below g is the file id.
func sameFile(g *grant, n string, id inode) bool {
	f, err := openBelow(g.file, n)
	if err != nil {
		return false
	}
	defer f.Close()
	_, got, err := stat(f)
	return err == nil && got == id
}
