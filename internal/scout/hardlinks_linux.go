package scout

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// linked is a hidden or protected file with more than one name.
type linked struct {
	path   string
	names  uint64
	hidden bool // else it is protected
}

// protectedMax bounds the entries looked at in one protected directory.
const protectedMax = 4096

// noteHardLinks remembers a hidden or protected file that another name would show
// or let be written.
func (s *session) noteHardLinks(full string, st unix.Stat_t, hidden bool) {
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink < 2 {
		return
	}
	if s.linked == nil {
		s.linked = map[inode]linked{}
	}
	id := inode{uint64(st.Dev), st.Ino}
	s.linked[id] = linked{full, uint64(st.Nlink), hidden || s.linked[id].hidden}
}

// checkHardLinks refuses a start where a hidden or protected file has another name
// in a grant, under which it is neither. Other names elsewhere are noted.
func (s *session) checkHardLinks() error {
	for _, g := range s.grants {
		for _, n := range g.readonly.list {
			if n.dir {
				s.noteLinksBelow(g, n.name)
			}
		}
	}
	for _, l := range s.linked {
		s.notes = append(s.notes, fmt.Sprintf("%s has %d names; those outside of the grants are not protected", l.path, l.names))
	}
	if len(s.linked) == 0 || s.req.View.HardLinks {
		return nil
	}
	for _, g := range s.grants {
		if err := s.seekNames(g); err != nil {
			return err
		}
	}
	return nil
}

// noteLinksBelow remembers the files in a protected directory. One that holds more
// than a command should ever run is noted instead.
func (s *session) noteLinksBelow(g *grant, n string) {
	dir, err := openBelow(g.file, n)
	if err != nil {
		return // gone: the names are looked up once more
	}
	defer dir.Close()
	w := walk{root: dir, maxDepth: defaultScanDepth, maxEntries: protectedMax}
	w.visit = func(fd int, buf []byte, p folder) ([]folder, error) {
		return eachFile(&w, fd, buf, p, func(string) bool { return false }, func(name string, st unix.Stat_t) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			s.noteHardLinks(filepath.Join(g.path, n, name), st, false)
			return nil
		})
	}
	if err := w.run(); err != nil {
		s.notes = append(s.notes, fmt.Sprintf("%s is not looked through for files with several names: %v", filepath.Join(g.path, n), err))
	}
}

// seekNames looks for other names of the linked files in g.
func (s *session) seekNames(g *grant) error {
	if !g.dir {
		if l, ok := s.linked[g.id]; ok && l.path != g.path && (l.hidden || g.write) {
			return secondName(l, g.path)
		}
		return nil
	}
	f := s.finder(g)
	f.walk.visit = func(fd int, buf []byte, p folder) ([]folder, error) {
		return eachFile(&f.walk, fd, buf, p, f.leaves, func(n string, st unix.Stat_t) error {
			l, ok := s.linked[inode{uint64(st.Dev), st.Ino}]
			_, protected := g.readonly.within(n)
			if full := filepath.Join(g.path, n); ok && full != l.path && (l.hidden || g.write && !protected) {
				return secondName(l, full)
			}
			return nil
		})
	}
	err := f.walk.run()
	if _, refused := errors.AsType[*child.OpenError](err); err == nil || refused {
		return err
	}
	for _, l := range s.linked {
		if l.hidden || g.write {
			e := secondName(l, g.path)
			e.Reason = fmt.Sprintf("%s has %d names, and %s may hold another: %v", l.path, l.names, g.path, err)
			return e
		}
	}
	return nil
}

func secondName(l linked, other string) *child.OpenError {
	what := "protected"
	if l.hidden {
		what = "hidden"
	}
	e := refuse("hard_link", "%s is %s in the jail, and %s is another name of the same file", l.path, what, other)
	e.Fix = fmt.Sprintf("cp -p %[1]s %[1]s.copy && mv %[1]s.copy %[1]s (outside); or weaken: [hardlinks]", shellQuote(l.path))
	return e
}

// eachFile calls each for every regular file of the directory fd that has more than
// one name, and returns the directories to go on with.
func eachFile(w *walk, fd int, buf []byte, p folder, leaves func(string) bool, each func(string, unix.Stat_t) error) (below []folder, err error) {
	seen := int64(0)
	err = readEntries(fd, buf, func(b []byte, kind byte) error {
		seen++
		if kind != unix.DT_DIR && kind != unix.DT_REG {
			return nil
		}
		n := p.in(string(b))
		if leaves(n) {
			return nil
		}
		if kind == unix.DT_DIR {
			below = append(below, folder{name: n, depth: p.depth + 1, apart: p.apart})
			return nil
		}
		var st unix.Stat_t
		err := unix.Fstatat(fd, string(b), &st, unix.AT_SYMLINK_NOFOLLOW)
		if errors.Is(err, os.ErrNotExist) || err == nil && st.Nlink < 2 {
			return nil
		}
		if err != nil {
			return err
		}
		return each(n, st)
	})
	return below, errors.Join(err, w.count(seen))
}
