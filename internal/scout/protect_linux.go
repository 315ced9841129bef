package scout

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// gitProtected are the names in a git directory that make git run a program at
// the next command outside.
var gitProtected = []string{"config", "config.worktree", "hooks"}

// protectGit makes what exists of them read-only at the top of every writable
// grant, whether that is a working tree or a git directory itself.
func (s *session) protectGit() error {
	for _, g := range s.grants {
		if !g.write || !g.dir {
			continue
		}
		dir, err := gitDir(g)
		if err != nil {
			return err
		}
		for _, n := range dir {
			if err := s.protect(g, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// gitDir returns the names to protect in g. A .git that is a file or a link says
// where the git directory is, and so is protected itself.
func gitDir(g *grant) ([]string, error) {
	st, err := lstat(g.file, ".git")
	if _, hidden := within(g.masked, ".git"); hidden {
		return nil, nil
	}
	switch {
	case err == nil && isDir(st):
		return prefixed(".git"), nil
	case err == nil:
		return []string{".git"}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("look at %s/.git: %w", g.path, err)
	}
	for _, mark := range []string{"HEAD", "objects"} {
		if _, err := lstat(g.file, mark); err != nil {
			return nil, nil // a missing mark: not a git directory
		}
	}
	return prefixed("."), nil
}

func prefixed(dir string) (names []string) {
	for _, n := range gitProtected {
		names = append(names, filepath.Join(dir, n))
	}
	return names
}

// protect makes the name n in g read-only where it exists.
func (s *session) protect(g *grant, n string) error {
	st, err := lstat(g.file, n)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	full := filepath.Join(g.path, n)
	switch {
	case err != nil:
		return fmt.Errorf("look at %s: %w", full, err)
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return unprotectable(full)
	}
	holdParents(g, n)
	if _, hidden := within(g.masked, n); hidden {
		return nil // a mask is read-only too
	}
	add(&g.readonly, name{n, isDir(st)})
	s.noteHardLinks(full, st)
	return nil
}
