package scout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// maxProtected bounds the names below all grants, each of which is a mount.
const maxProtected = 4096

// protectGrants makes read-only, in every writable grant, what programs outside
// run by themselves, and hides the doors to such programs in every grant.
func (s *session) protectGrants() error {
	s.granted = map[string]bool{}
	for _, g := range s.grants {
		s.granted[g.path] = true
	}
	s.readPatterns()
	found, err := s.findAll()
	if err != nil {
		return err
	}
	for _, g := range s.grants {
		if g.dir && !g.write {
			if err := s.hideReadable(g); err != nil {
				return err
			}
		}
	}
	for _, f := range found {
		if err := s.hideDoors(f.grant, f.doors); err != nil {
			return err
		}
	}
	for _, f := range found {
		if err := s.protectFound(f); err != nil {
			return err
		}
	}
	// A pointer may lead into another grant, which has to be known by then.
	for _, f := range found {
		for _, n := range f.files {
			if err := s.followGitFile(f.grant, n); err != nil {
				return err
			}
		}
	}
	return errors.Join(s.protectAsked(), s.protectGlobalGit())
}

// readPatterns sorts what is protected by name or path.
func (s *session) readPatterns() {
	for _, n := range s.req.View.ReadOnly {
		s.control.add(n)
	}
	for _, p := range s.req.View.Protect {
		s.asked.add(p.Pattern)
	}
}

// protectAsked protects the paths that the policy names as such: also where a link
// of the caller's leads to one.
func (s *session) protectAsked() error {
	for _, p := range s.req.View.Protect {
		if !filepath.IsAbs(p.Pattern) || isGlob(p.Pattern) {
			continue
		}
		if err := s.protectPath(p.Pattern); err != nil {
			return err
		}
		f, err := openPath(p.Pattern)
		if err != nil {
			continue // absent, or out of the command's reach as well
		}
		real, err := realPath(f)
		f.Close()
		if err == nil {
			err = s.protectPath(real)
		}
		if err != nil {
			return refuse("protect", "cannot protect %s%s: %v", p.Pattern, origin(p.Origin), err)
		}
	}
	return nil
}

func (s *session) protectFound(f *finder) error {
	g := f.grant
	for _, n := range f.named {
		if err := s.protectPath(filepath.Join(g.path, n)); err != nil {
			return err
		}
	}
	for _, n := range f.files { // a link too is only a pointer: what it leads to has its own rules
		if err := s.protect(g, n); err != nil {
			return err
		}
	}
	for _, d := range f.git {
		g.git = append(g.git, d.name)
	}
	for _, d := range f.git {
		if err := s.protectGitDir(g, d); err != nil {
			return err
		}
	}
	return nil
}

// protectPath makes what p leads to read-only where it exists, and each link on
// the way, as far as they lie in writable grants. It looks at nothing else: p may
// have been written by a command.
func (s *session) protectPath(p string) error {
	asked := p
	for range maxLinks {
		g, n := s.writableAt(p)
		if g == nil || n == "" {
			return nil
		}
		link, err := firstLink(g.file, n)
		if absent(err) {
			return nil
		}
		if err != nil {
			return refuse("protect", "%s cannot be protected: %v", filepath.Join(g.path, n), cause(err))
		}
		if link == "" {
			return s.protect(g, n)
		}
		if err := s.protect(g, link); err != nil {
			return err
		}
		target, err := readLink(g.file, link)
		if err != nil {
			return refuse("protect", "%s cannot be protected: %v", asked, err)
		}
		at := filepath.Join(g.path, link)
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(at), target)
		}
		p = filepath.Join(target, strings.TrimPrefix(n, link))
	}
	return refuse("protect", "%s cannot be protected: %v", asked, unix.ELOOP)
}

// writableAt returns the innermost grant that p lies in, by its canonical name or
// one that it was granted by, and what p is called there; nil if it is not
// writable, or hidden.
func (s *session) writableAt(p string) (g *grant, n string) {
	g, n = s.innermost(p)
	if g == nil || !g.write {
		return nil, ""
	}
	if _, hidden := g.masked.within(n); hidden {
		return nil, ""
	}
	return g, n
}

// firstLink returns the first of n's components, as the name so far, that is a
// link; empty if none is. Every component exists.
func firstLink(root *os.File, n string) (string, error) {
	for at := 0; at < len(n); at++ {
		end := strings.IndexByte(n[at:], '/')
		if at += end; end < 0 {
			at = len(n)
		}
		st, err := lstat(root, n[:at])
		if err != nil || st.Mode&unix.S_IFMT == unix.S_IFLNK {
			return n[:at], err
		}
	}
	return "", nil
}

func readLink(dir *os.File, n string) (string, error) {
	buf := make([]byte, unix.PathMax)
	size, err := unix.Readlinkat(int(dir.Fd()), n, buf)
	if err != nil {
		return "", &os.PathError{Op: "readlink", Path: n, Err: err}
	}
	return string(buf[:size]), nil
}

func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
}

// protect makes the name n in g read-only where it exists, a link as a link.
func (s *session) protect(g *grant, n string) error {
	if _, inside := g.readonly.within(n); inside {
		return nil
	}
	st, err := lstat(g.file, n)
	if absent(err) {
		return nil
	}
	full := filepath.Join(g.path, n)
	if err != nil {
		return fmt.Errorf("look at %s: %w", full, err)
	}
	if _, hidden := g.masked.within(n); hidden {
		return nil // a mask is read-only too
	}
	holdParents(g, n)
	g.readonly.add(name{name: n, dir: isDir(st), link: st.Mode&unix.S_IFMT == unix.S_IFLNK})
	s.noteHardLinks(full, st, false)
	return s.bounded()
}

// bounded refuses more names than a jail can hold.
func (s *session) bounded() error {
	n := 0
	for _, g := range s.grants {
		n += len(g.held.list) + len(g.readonly.list) + len(g.masked.list)
	}
	if n <= maxProtected {
		return nil
	}
	e := refuse("protect", "more than %d names in the writable directories have to be protected or hidden", maxProtected)
	e.Fix = "grant less of them for writing"
	return e
}
