package scout

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
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
	locked   bool // names in it may come to be others, untold
	size     int  // directories
}

// enter makes p, which is open as fd, known: before its names are read, so that none
// is made unseen in between.
func (s *survey) enter(fd int, p folder) *surveyed {
	wd := s.notifier.add(fd)
	locked := wd >= 0 && encrypted(fd)
	n := s.notifier
	n.mu.Lock()
	defer n.mu.Unlock()
	s.locked = s.locked || locked
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

// encrypted reports whether the names in the directory fd are known to whoever has a
// key: one that was read without it is another with it, and no event tells of a key.
func encrypted(fd int) bool {
	var st unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, 0, &st)
	return err != nil || st.Attributes&unix.STATX_ATTR_ENCRYPTED != 0
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
	if delete(n.always, at); l.isGit && !at.gone {
		n.always[at] = true
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
// opens it to the command.
func (s *survey) shut(p folder) {
	s.notifier.mu.Lock()
	defer s.notifier.mu.Unlock()
	if p.parent == nil || p.parent.gone {
		s.notifier.doubt = true
		return
	}
	s.notifier.always[p.parent] = true
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

// again has what was left out before, and is not any more, looked at, and what is
// listed every time: git directories, for what is taken away from one, of which nothing
// is told, may make it a plain directory, in which more is looked at; and directories
// with one that could not be opened.
func (s *survey) again(leaves []string) {
	for p := range s.notifier.always {
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
