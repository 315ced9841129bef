package scout

import (
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// installed are directories that installers fill from a cache of the user's, by
// hard links where they can.
var installed = []string{".venv", "venv", "node_modules"}

// sampleSize is how many entries of one are looked at. An installer links all files
// or none.
const sampleSize = 2048

var errLinkFound = errors.New("a hard link")

// sampleLinks looks in writable grants for installed files that are hard links: what
// the command writes there, it writes into the cache and into other projects.
func (s *session) sampleLinks() error {
	for _, g := range s.grants {
		if !g.write || !g.dir {
			continue
		}
		for _, n := range installed {
			if _, protected := g.readonly.within(n); !protected && s.hasLinks(g, n) {
				s.shared = append(s.shared, filepath.Join(g.path, n))
			}
		}
	}
	return nil
}

// hasLinks reports whether a file with more than one name is found soon.
func (s *session) hasLinks(g *grant, n string) bool {
	if _, hidden := g.masked.within(n); hidden {
		return false
	}
	dir, err := openBelow(g.file, n)
	if err != nil {
		return false
	}
	defer dir.Close()
	w := walk{root: dir, maxDepth: defaultScanDepth, maxEntries: sampleSize}
	w.visit = func(fd int, buf []byte, p folder) ([]folder, error) {
		return eachFile(&w, fd, buf, p, func(string) bool { return false }, func(string, unix.Stat_t) error { return errLinkFound })
	}
	return errors.Is(w.run(), errLinkFound)
}
