package scout

import (
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// listing is what matters of the names in one directory.
type listing struct {
	entries int64
	isGit   bool
	special bool     // a program outside, or git, may make something of a name in it
	git     []string // names that matter where it is git's
	named   []string // protected by name
	files   []string // .git where it is no directory
	doors   []string // Unix sockets and FIFOs
}

// list sorts the entries of one directory.
func (f *finder) list(fd int, buf []byte, p folder) (l listing, below []folder, err error) {
	var marks gitMarks
	err = readEntries(fd, buf, func(b []byte, kind byte) error {
		if l.entries++; l.entries%1024 == 0 {
			if err := f.walk.count(1024); err != nil {
				return err
			}
		}
		door := isDoor(kind)
		if kind != unix.DT_DIR && !door && !f.sieve.passes(b) {
			return nil
		}
		if marks.take(b, kind) {
			l.git = append(l.git, string(b))
		}
		isFile := kind != unix.DT_DIR && string(b) == ".git"
		match := !isFile && f.matches(p, b)
		l.special = l.special || match || isSpecial(string(b), kind)
		if !match && !isFile && kind != unix.DT_DIR && !door || f.leaves(p.in(string(b))) {
			return nil
		}
		switch {
		case door:
			l.doors = append(l.doors, string(b))
		case isFile:
			l.files = append(l.files, string(b))
		case match:
			l.named = append(l.named, string(b))
		default:
			below = append(below, folder{name: p.in(string(b)), depth: p.depth + 1, apart: p.apart, packages: p.packages || packages[string(b)]})
		}
		return nil
	})
	if err == nil {
		err = f.walk.count(l.entries % 1024)
	}
	l.isGit = marks.gitDir(p)
	l.special = l.special || l.isGit || p.git != 0
	if !l.isGit {
		l.git = nil
	}
	return l, gitBelow(below, p, l.isGit), err
}

// isSpecial reports whether a watch makes something of a name in a plain directory.
func isSpecial(name string, kind byte) bool {
	if strings.EqualFold(name, layout[0]) {
		return true
	}
	return kind != unix.DT_DIR && classOf(plainKind, name, kind == unix.DT_LNK) != child.ClassNone
}
