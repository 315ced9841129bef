package scout

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// finder looks through a writable grant for what programs outside run by
// themselves: git directories, control files, and what the policy names.
type finder struct {
	session *session
	grant   *grant
	control patterns // names that count outside of package trees
	asked   patterns // those of the policy's own protect
	walk    walk

	mu    sync.Mutex
	named []string
	files []string // .git where it is no directory
	git   []gitDir
	doors []string // Unix sockets and FIFOs
}

// packages are directories that a package manager owns. It removes and replaces
// them whole, so that a name held in there would break it; and no tool outside
// looks for its control files there. Git directories in them count nevertheless.
var packages = map[string]bool{"node_modules": true, "site-packages": true}

func (s *session) finder(g *grant) *finder {
	f := &finder{session: s, grant: g, control: s.control, asked: s.asked}
	f.walk = walk{
		root: g.file, visit: f.visit,
		maxDepth: cmp.Or(s.req.View.ScanDepth, defaultScanDepth), maxEntries: int64(cmp.Or(s.req.View.ScanMax, defaultScanMax)),
	}
	return f
}

func (s *session) find(g *grant) (*finder, error) {
	f := s.finder(g)
	if err := f.walk.run(); err != nil {
		return nil, f.refuse(err)
	}
	slices.Sort(f.named)
	slices.SortFunc(f.git, func(a, b gitDir) int { return cmp.Compare(a.name, b.name) })
	return f, nil
}

// refuse says which bound of the scan a tree exceeds, and how to raise it.
func (f *finder) refuse(err error) error {
	at := f.grant.path
	if e, ok := errors.AsType[*os.PathError](err); ok {
		at = filepath.Join(at, e.Path)
	}
	e := refuse("protect_scan", "%s cannot be looked through for what has to be protected: %v", at, cause(err))
	switch {
	case errors.Is(err, errTooMany):
		e = refuse("protect_scan", "%s has more than %d entries, too many to look for what has to be protected", f.grant.path, f.walk.maxEntries)
		e.Fix = fmt.Sprintf("protect_scan: {max: %d}, or grant less of it for writing", 4*f.walk.maxEntries)
	case errors.Is(err, errTooDeep):
		e = refuse("protect_scan", "%.200s… is more than %d directories deep, or its path too long, to look for what has to be protected", at, f.walk.maxDepth)
		e.Fix = fmt.Sprintf("protect_scan: {depth: %d}, or grant less of it for writing", 4*f.walk.maxDepth)
	case errors.Is(err, unix.EACCES):
		e.Fix = "chmod u+rx " + shellQuote(at)
	}
	return e
}

// visit sorts the entries of one directory.
func (f *finder) visit(fd int, buf []byte, p folder) (below []folder, err error) {
	var git []string
	var named, files, doors []string
	marks, seen := gitMarks(0), int64(0)
	err = readEntries(fd, buf, func(b []byte, kind byte) error {
		if seen++; seen%1024 == 0 {
			if err := f.walk.count(1024); err != nil {
				return err
			}
		}
		if marks.take(b, kind) {
			git = append(git, string(b))
		}
		isFile := kind != unix.DT_DIR && string(b) == ".git"
		match := !isFile && f.matches(p, b)
		if !match && !isFile && kind != unix.DT_DIR && !isDoor(kind) {
			return nil
		}
		n := p.in(string(b))
		if f.leaves(n) {
			return nil
		}
		switch {
		case isDoor(kind):
			doors = append(doors, n)
		case isFile:
			files = append(files, n)
		case match:
			named = append(named, n)
		default:
			below = append(below, folder{name: n, depth: p.depth + 1, apart: p.apart, packages: p.packages || packages[string(b)]})
		}
		return nil
	})
	if err == nil {
		err = f.walk.count(seen % 1024)
	}
	if err != nil {
		return nil, err
	}
	isGit := marks.gitDir(p)
	if p.apart && (isGit || len(named)+len(files)+len(doors) > 0) {
		return nil, f.onAnotherMount(p)
	}
	below = gitBelow(below, p, isGit)
	if !isGit && len(named)+len(files)+len(doors) == 0 {
		return below, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.doors = append(f.doors, doors...)
	f.named, f.files = append(f.named, named...), append(f.files, files...)
	if isGit {
		f.git = append(f.git, gitDir{p.name, git})
	}
	return below, nil
}

// matches reports whether an entry of p is protected for its name.
func (f *finder) matches(p folder, name []byte) bool {
	if !p.packages && f.control.name(name) {
		return true
	}
	return f.asked.name(name) || f.asked.hasPaths() && f.asked.path(path.Join(f.grant.path, p.name, string(name)))
}

// leaves reports whether n is not the grant's to protect: it is hidden, or a grant
// of its own.
func (f *finder) leaves(n string) bool {
	if f.grant.masked.seen[n] {
		return true
	}
	return f.session.granted[strings.TrimSuffix(f.grant.path, "/")+"/"+n]
}

func (f *finder) onAnotherMount(p folder) error {
	return &child.OpenError{
		Code: "protect", Exit: exitFailed,
		Reason: fmt.Sprintf("%s lies on a mount of its own below %s, and what is in it cannot be protected there", filepath.Join(f.grant.path, p.name), f.grant.path),
		Fix:    "grant the directories beside it",
	}
}
