package scout

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// The bounds where a request has none: entries looked at in one directory, entries
// and depth of a writable grant.
const (
	defaultScan      = 50_000
	defaultScanMax   = 1_000_000
	defaultScanDepth = 64
)

// scanGrants hides the dot entries at the top of every granted directory, save
// those that are listed as visible or granted themselves.
func (s *session) scanGrants() error {
	for _, g := range s.grants {
		if !g.dir {
			continue
		}
		dots, err := s.dotEntries(g)
		if err != nil {
			return err
		}
		for _, d := range dots {
			if err := s.judgeDot(g, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// dotEntries lists the names at the top of g that begin with a dot. The whole
// directory has to be read; more entries than the bound are an error, because an
// unseen name would be a visible one.
func (s *session) dotEntries(g *grant) (dots []string, err error) {
	f, err := openHow(int(g.file.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY, unix.RESOLVE_BENEATH)
	if err != nil {
		return nil, refuse("hidden_scan", "cannot list %s as you, and so not hide its dot entries: %v", g.path, errors.Unwrap(err))
	}
	defer f.Close()
	limit := s.req.View.HiddenMax
	if limit <= 0 {
		limit = defaultScan
	}
	for seen := 0; ; {
		batch, err := f.Readdirnames(1024)
		if seen += len(batch); seen > limit {
			return nil, &child.OpenError{
				Code: "hidden_scan", Exit: exitFailed,
				Reason: fmt.Sprintf("%s has more than %d entries, too many to look for dot entries", g.path, limit),
				Fix:    fmt.Sprintf("cwd_hidden_scan: {max: %d}", 4*limit),
			}
		}
		for _, n := range batch {
			if n[0] == '.' {
				dots = append(dots, n)
			}
		}
		if err == io.EOF {
			return dots, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", g.path, err)
		}
	}
}

// judgeDot hides one dot entry or lets it be. A link itself is never hidden: where it
// leads is granted by another name, or out of reach.
func (s *session) judgeDot(g *grant, dot string) error {
	st, err := lstat(g.file, dot)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", filepath.Join(g.path, dot), err)
	}
	full := filepath.Join(g.path, dot)
	link := st.Mode&unix.S_IFMT == unix.S_IFLNK
	visible, inner := s.grantedAt(full)
	switch {
	case visible || matches(s.req.View.Visible, dot):
	case link && matches(s.req.View.Secret, dot):
		return s.judgeLink(g, dot)
	case link:
	case inner != "":
		return &child.OpenError{
			Code: "hidden", Exit: exitFailed,
			Reason: fmt.Sprintf("%s is granted but lies below %s, which is hidden", inner, full),
			Fix:    fmt.Sprintf("cwd_allow_hidden: [%s]", dot),
		}
	default:
		s.mask(g, name{name: dot, dir: isDir(st)}, st)
		if g.path == s.cwd {
			s.hidden = append(s.hidden, dot)
		}
	}
	return nil
}

// mask hides n, and notes a second name that would show the same file.
func (s *session) mask(g *grant, n name, st unix.Stat_t) {
	full := filepath.Join(g.path, n.name)
	g.masked.add(n)
	s.noteHardLinks(full, st, true)
}

// grantedAt reports whether p itself is granted, or which grant lies below it.
func (s *session) grantedAt(p string) (exactly bool, inner string) {
	for _, g := range s.grants {
		if g.path == p {
			return true, ""
		}
		if _, ok := below(p, g.path); ok {
			inner = g.path
		}
	}
	return false, inner
}

func lstat(dir *os.File, name string) (st unix.Stat_t, err error) {
	return st, unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
}

func matches(globs []string, name string) bool {
	for _, g := range globs {
		if ok, _ := path.Match(g, name); ok {
			return true
		}
	}
	return false
}
