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
	sieve   sieve
	survey  *survey
	walk    walk

	named []string
	files []string // .git where it is no directory
	git   []gitDir
	mu    sync.Mutex
	doors []string // Unix sockets and FIFOs
}

// packages are directories that a package manager owns. It removes and replaces
// them whole, so that a name held in there would break it; and no tool outside
// looks for its control files there. Git directories in them count nevertheless.
var packages = map[string]bool{"node_modules": true, "site-packages": true}

func (s *session) finder(g *grant) *finder {
	f := &finder{session: s, grant: g, control: s.control, asked: s.asked}
	f.walk = walk{
		root:     g.file,
		maxDepth: cmp.Or(s.req.View.ScanDepth, defaultScanDepth), maxEntries: int64(cmp.Or(s.req.View.ScanMax, defaultScanMax)),
	}
	return f
}

// find looks through all of g.
func (s *session) find(g *grant) (*finder, error) {
	f := s.finder(g)
	f.into(&survey{notifier: s.desk.notifier, left: s.leaves(g)})
	if err := f.walk.run(); err != nil {
		return nil, f.refuse(err)
	}
	if err := f.collect(false); err != nil {
		return nil, f.refuse(err)
	}
	return f, s.desk.keep(s, f)
}

// findAgain looks at what has changed in g since it was looked through.
func (s *session) findAgain(g *grant, known *survey) (*finder, error) {
	f := s.finder(g)
	f.into(known)
	known.again(s.leaves(g))
	buf := make([]byte, listingBuffer)
	for _, p := range known.stale() {
		if p.gone { // with one above
			continue
		}
		below, err := f.walk.look(p.folder(), buf)
		if err == nil && len(below) > 0 {
			err = f.walk.runFrom(below)
		}
		if err != nil {
			return nil, err
		}
	}
	return f, f.collect(true)
}

// into has what f finds go into a survey.
func (f *finder) into(s *survey) {
	f.survey, f.sieve = s, sieveOf(f.control, f.asked)
	f.walk.visit, f.walk.gone, f.walk.shut = f.visit, s.gone, s.shut
}

func (f *finder) collect(before bool) error {
	if err := f.survey.collect(f, before); err != nil {
		return err
	}
	slices.Sort(f.named)
	slices.Sort(f.files)
	slices.SortFunc(f.git, func(a, b gitDir) int { return cmp.Compare(a.name, b.name) })
	return nil
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

// visit looks at one directory.
func (f *finder) visit(fd int, buf []byte, p folder) ([]folder, error) {
	at := f.survey.enter(fd, p)
	l, below, err := f.list(fd, buf, p)
	if err != nil {
		return nil, err
	}
	if p.apart && (l.isGit || len(l.named)+len(l.files)+len(l.doors) > 0) {
		return nil, f.onAnotherMount(p)
	}
	return f.survey.learn(at, l, below), nil
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
