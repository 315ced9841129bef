package scout

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// survey is what is known of the directories of a writable grant.
type survey struct {
	notifier *notifier
	scope    string   // what was looked for, and where
	id       inode    // of the grant
	mount    uint64   // that it was opened on
	left     []string // names that were not looked at: hidden, or granted themselves
	top      *surveyed
	apart    bool // it has mounts in it
	whole    bool // its watches miss nothing
	size     int  // directories
}

// enter makes p, which is open as fd, known: before its names are read, so that none
// is made unseen in between.
func (s *survey) enter(fd int, p folder) *surveyed {
	wd := s.notifier.add(fd)
	n := s.notifier
	n.mu.Lock()
	defer n.mu.Unlock()
	if at := p.place; at != nil && at.wd == wd && !at.gone {
		return at
	}
	at := &surveyed{parent: p.parent, name: path.Base(p.name), wd: wd, part: p.git, apart: p.apart, packages: p.packages}
	s.size++
	s.apart = s.apart || p.apart
	if at.parent != nil && at.parent.gone {
		// Moved while it was looked through: it is seen where it is now. What is
		// seen here counts nowhere.
		n.doubt = true
		return at
	}
	n.drop(p.place)
	if other := n.places[wd]; wd >= 0 && other != nil {
		n.doubt = n.doubt || !s.has(other) // one directory, two grants
		n.drop(other)
	}
	if at.parent == nil {
		s.top = at
	} else {
		if at.parent.below == nil {
			at.parent.below = map[string]*surveyed{}
		}
		at.parent.below[at.name] = at
	}
	if wd >= 0 {
		n.places[wd] = at
	}
	return at
}

func (s *survey) has(p *surveyed) bool {
	for p.parent != nil {
		p = p.parent
	}
	return p == s.top
}

// learn notes what was found in at, and returns which of the directories below are
// to be looked at. One that is known stays as it is.
func (s *survey) learn(at *surveyed, l listing, below []folder) []folder {
	n := s.notifier
	n.mu.Lock()
	defer n.mu.Unlock()
	at.listing, at.stale = l, false
	if delete(n.git, at); l.isGit && !at.gone {
		n.git[at] = true
	}
	known := at.below
	at.below = nil
	fresh := below[:0]
	for _, b := range below {
		base := path.Base(b.name)
		if p := known[base]; p != nil && p.same(b) {
			if at.below == nil {
				at.below = make(map[string]*surveyed, len(below))
			}
			at.below[base] = p
			delete(known, base)
			continue
		}
		b.parent = at
		fresh = append(fresh, b)
	}
	for _, p := range known {
		n.drop(p)
	}
	return fresh
}

// stale are the places to be listed again, those above first.
func (s *survey) stale() (places []*surveyed) {
	for _, p := range s.notifier.stale {
		if p.stale && !p.gone && s.has(p) {
			places = append(places, p)
		}
	}
	slices.SortFunc(places, func(a, b *surveyed) int { return cmp.Compare(a.depth(), b.depth()) })
	return places
}

// gone is for a directory that is no more where it was.
func (s *survey) gone(p folder) {
	s.notifier.mu.Lock()
	defer s.notifier.mu.Unlock()
	s.notifier.drop(p.place)
}

// shut is for a directory that the scout may not open. Nothing tells when its owner
// opens it to the command, so that the survey is good for one request.
func (s *survey) shut() {
	s.notifier.mu.Lock()
	defer s.notifier.mu.Unlock()
	s.notifier.doubt = true
}

// leaves are the names below g that are not g's to protect.
func (s *session) leaves(g *grant) (names []string) {
	for n := range g.masked.seen {
		names = append(names, n)
	}
	for p := range s.granted {
		if n, ok := below(g.path, p); ok && n != "" {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}

// again has what was left out before, and is not any more, looked at. Git directories
// are listed every time: what is taken away from one, of which nothing is told, may
// make it a plain directory, in which more is looked at.
func (s *survey) again(leaves []string) {
	for p := range s.notifier.git {
		if s.has(p) {
			s.notifier.list(p)
		}
	}
	for _, n := range s.left {
		if _, still := slices.BinarySearch(leaves, n); still {
			continue
		}
		if p := s.top.at(filepath.Dir(n)); p != nil {
			s.notifier.list(p)
		}
	}
	s.left = leaves
}

// collect puts what is known together. What was known before a walk has not counted,
// and each name is looked up again: it may have gone.
func (s *survey) collect(f *finder, before bool) error {
	c := collector{f: f, before: before}
	if s.top == nil {
		return nil
	}
	return c.take(s.top, ".", 0)
}

type collector struct {
	f       *finder
	before  bool
	entries int64
}

func (c *collector) take(p *surveyed, rel string, depth int) error {
	f := c.f
	if c.entries += p.entries; c.before && c.entries > f.walk.maxEntries {
		return errTooMany
	}
	if c.before && depth > f.walk.maxDepth {
		return &os.PathError{Op: "walk", Path: rel, Err: errTooDeep}
	}
	at := folder{name: rel}
	f.named = c.names(f.named, at, p.named)
	f.files = c.names(f.files, at, p.files)
	f.doors = c.names(f.doors, at, p.doors)
	if p.isGit {
		f.git = append(f.git, gitDir{rel, slices.DeleteFunc(slices.Clone(p.git), func(n string) bool { return !c.there(at.in(n)) })})
	}
	for name, b := range p.below {
		n := at.in(name)
		if f.leaves(n) {
			continue
		}
		if err := c.take(b, n, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) names(to []string, at folder, names []string) []string {
	for _, name := range names {
		if n := at.in(name); !c.f.leaves(n) && c.there(n) {
			to = append(to, n)
		}
	}
	return to
}

func (c *collector) there(n string) bool {
	if !c.before {
		return true
	}
	_, err := lstat(c.f.grant.file, n)
	return !absent(err)
}

// told are the file systems on which the kernel sees all that happens.
var told = map[string]bool{"ext2": true, "ext3": true, "ext4": true, "xfs": true, "btrfs": true, "tmpfs": true, "f2fs": true, "jfs": true, "nilfs2": true}

// whole reports whether the mount id shows all of g, on a file system that hides
// nothing from its watches. What is mounted in it can be exchanged unseen.
func (ms mounts) whole(id uint64, g *grant) bool {
	m, ok := ms[id]
	if !ok || !told[m.fstype] {
		return false
	}
	for _, other := range ms {
		if strings.HasPrefix(other.point, strings.TrimSuffix(g.path, "/")+"/") {
			return false
		}
	}
	return true
}
