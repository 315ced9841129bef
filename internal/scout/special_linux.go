package scout

import (
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// isDoor reports whether an entry of this kind is a door to a program outside.
func isDoor(kind byte) bool { return kind == unix.DT_SOCK || kind == unix.DT_FIFO }

// hideDoors hides the Unix sockets and FIFOs that were found in g: no read-only
// mount keeps a jail from connecting. One that the policy names is a grant of its
// own and stays.
func (s *session) hideDoors(g *grant, doors []string) error {
	slices.Sort(doors)
	for _, n := range doors {
		if g.write {
			holdParents(g, n)
		}
		g.masked.add(name{name: n})
		s.doors = append(s.doors, filepath.Join(g.path, n))
	}
	return s.bounded()
}

// hideReadable hides the doors in a grant that is not writable, where nothing else
// is looked for. An unseen one would be a visible one: so where the policy lets the
// command write anything, a grant that is too large to be looked through is
// refused, and elsewhere it is noted.
func (s *session) hideReadable(g *grant) error {
	f := s.finder(g)
	f.walk.visit = f.visitReadable
	err := f.walk.run()
	if err != nil {
		e := f.refuse(err)
		if slices.ContainsFunc(s.grants, func(g *grant) bool { return g.write }) {
			return e
		}
		s.notes = append(s.notes, e.Error()+": Unix sockets further down are visible")
	}
	return s.hideDoors(g, f.doors)
}

func (f *finder) visitReadable(fd int, buf []byte, p folder) (below []folder, err error) {
	var doors []string
	seen := int64(0)
	err = readEntries(fd, buf, func(b []byte, kind byte) error {
		seen++
		if kind != unix.DT_DIR && !isDoor(kind) {
			return nil
		}
		n := p.in(string(b))
		switch {
		case f.leaves(n):
		case isDoor(kind):
			doors = append(doors, n)
		default:
			below = append(below, folder{name: n, depth: p.depth + 1, apart: p.apart})
		}
		return nil
	})
	if err == nil {
		err = f.walk.count(seen)
	}
	if err == nil && p.apart && len(doors) > 0 {
		err = f.onAnotherMount(p)
	}
	if err != nil || len(doors) == 0 {
		return below, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.doors = append(f.doors, doors...)
	return below, nil
}

// fits refuses what cannot be a grant of its kind, and a socket that commands a
// program outside where the policy does not give that away.
func (s *session) fits(req child.Grant, f *os.File, p string, st unix.Stat_t) error {
	kind := st.Mode & unix.S_IFMT
	special := kind == unix.S_IFSOCK || kind == unix.S_IFIFO
	switch {
	case !req.Socket && special:
		e := refuse("grant", "%s cannot be granted%s: it is a Unix socket or a FIFO, a door to a program outside", req.Path, origin(req.Origin))
		e.Fix = policyLine("unix_sockets", req.Path)
		return e
	case !req.Socket && !isDir(st) && kind != unix.S_IFREG:
		return refuse("grant", "%s cannot be granted%s: it is neither a directory nor a regular file", req.Path, origin(req.Origin))
	case req.Socket && !special:
		return refuse("grant", "%s is no Unix socket and no FIFO%s", req.Path, origin(req.Origin))
	case !special || s.req.View.ControlSockets:
		return nil
	}
	what, err := s.controls(f, p)
	if err != nil {
		return err
	}
	if what == "" {
		return nil
	}
	e := refuse("control_socket", "%s%s commands a program outside of the jail (%s)", req.Path, origin(req.Origin), what)
	e.Fix = "weaken: [control_sockets], where that is meant and the operator grants it"
	return e
}
