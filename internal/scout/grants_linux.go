package scout

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// grant is one opened grant. Its lists hold names below it.
type grant struct {
	file                   *os.File
	path                   string   // canonical
	asked                  []string // the names that it was granted by
	id                     inode
	dir, write             bool
	held, readonly, masked nameSet
	git                    []string // its git directories
}

func (g *grant) hasGit(n string) bool { return slices.Contains(g.git, n) }

func (g *grant) reply() child.OpenGrant {
	return child.OpenGrant{
		Path: g.path, Dir: g.dir, Write: g.write,
		Held: g.held.reply(), ReadOnly: g.readonly.reply(), Masked: g.masked.reply(), Git: g.git,
	}
}

// tidy leaves each name in one list. What lies below a hidden directory is not
// there, and a directory that is read-only or hidden is held by that already.
func (g *grant) tidy() {
	visible := func(n name) bool {
		_, hidden := g.masked.within(path.Dir(n.name))
		return !hidden
	}
	for _, set := range []*nameSet{&g.held, &g.readonly, &g.masked} {
		set.keep(visible)
	}
	g.readonly.keep(func(n name) bool { return !g.masked.seen[n.name] })
	g.held.keep(func(n name) bool { return !g.masked.seen[n.name] && !g.readonly.seen[n.name] })
}

// names are all names of g in the order of the second phase.
func (g *grant) names() []name { return slices.Concat(g.held.list, g.readonly.list, g.masked.list) }

// openGrants opens every grant as the caller. What counts from here on is the
// descriptor and its canonical path; the name that was asked for is forgotten.
func (s *session) openGrants() error {
	for _, g := range s.req.View.Grants {
		opened, err := s.openGrant(g)
		if err != nil {
			return err
		}
		if opened != nil {
			s.addGrant(opened)
		}
	}
	s.sortGrants()
	return s.stayInside()
}

func (s *session) sortGrants() {
	slices.SortFunc(s.grants, func(a, b *grant) int { return cmp.Compare(a.path, b.path) })
}

// stayInside refuses a grant that was named below another and lies elsewhere: an
// earlier command may have put the link there that leads it out.
func (s *session) stayInside() error {
	for _, g := range s.grants {
		for _, name := range g.asked {
			for _, around := range s.grants {
				if around.dir && around.encloses(name) && !child.Within(around.path, g.path) {
					e := refuse("grant", "%s leads out of %s by a link, to %s", name, around.path, g.path)
					e.Fix = "where that is meant, grant it by its own name: " + g.path
					return e
				}
			}
		}
	}
	return nil
}

// encloses reports whether a path as it was asked for is below g.
func (g *grant) encloses(name string) bool {
	return slices.ContainsFunc(append(g.asked, g.path), func(around string) bool { return name != around && child.Within(around, name) })
}

// addGrant merges two grants of one path: the wider one holds.
func (s *session) addGrant(g *grant) {
	for _, old := range s.grants {
		if old.path == g.path {
			old.write = old.write || g.write
			old.asked = append(old.asked, g.asked...)
			g.file.Close()
			return
		}
	}
	s.grants = append(s.grants, g)
}

func (s *session) openGrant(req child.Grant) (*grant, error) {
	open := openPath
	if req.Path == s.req.View.Cwd {
		open = openDirect
	}
	f, err := open(req.Path)
	switch {
	case errors.Is(err, unix.ELOOP) && req.Path == s.req.View.Cwd:
		return nil, throughALink(req.Path)
	case errors.Is(err, fs.ErrNotExist) && req.Missing:
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, &child.OpenError{Code: "no_such_path", Exit: exitFailed, Reason: fmt.Sprintf("%s does not exist%s", req.Path, origin(req.Origin))}
	case err != nil:
		return nil, refuse("grant", "cannot open %s as you%s: %v", req.Path, origin(req.Origin), errors.Unwrap(err))
	}
	st, id, err := stat(f)
	if err != nil {
		return nil, err
	}
	p, err := realPath(f)
	if err != nil {
		return nil, refuse("grant", "cannot find the path of %s: %v", req.Path, err)
	}
	if err := child.CheckDest(p, s.req.User.Home, s.req.SystemDirs); err != nil {
		return nil, refuse("grant", "%s cannot be granted%s: %v", req.Path, origin(req.Origin), err)
	}
	if err := s.refuseGitGrant(req, p); err != nil {
		return nil, err
	}
	if err := s.fits(req, f, p, st); err != nil {
		return nil, err
	}
	if m, ok, err := s.mounts.of(f); err != nil || !ok || ungrantable[m.fstype] {
		return nil, refuse("grant", "%s cannot be granted%s: its file system (%s) is a door into the kernel", req.Path, origin(req.Origin), cmp.Or(m.fstype, "unknown"))
	}
	return &grant{file: f, path: p, asked: []string{req.Path}, id: id, dir: isDir(st), write: req.Write}, nil
}

func origin(line string) string {
	if line == "" {
		return ""
	}
	return " (" + line + ")"
}

// covering returns the grants that p, a canonical path, is or lies below, with
// its name in each; the innermost comes last.
func (s *session) covering(p string) (gs []*grant, names []string) {
	for _, g := range s.grants {
		if n, ok := below(g.path, p); ok && (g.dir || n == "") {
			gs, names = append(gs, g), append(names, n)
		}
	}
	return gs, names
}
