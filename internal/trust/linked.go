package trust

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// skipped trees of /usr hold many files and no program's configuration.
var skipped = []string{
	"/usr/share/doc", "/usr/share/man", "/usr/share/locale", "/usr/share/zoneinfo", "/usr/share/icons",
	"/usr/include", "/usr/src", "/usr/local/go",
}

const maxVisited = 1_000_000 // entries of /usr looked at

// linked returns the first components below /etc that links under /usr lead to.
func (r reader) linked() []string {
	found := map[string]bool{}
	visited := 0
	filepath.WalkDir(r.host("/usr"), func(host string, d fs.DirEntry, err error) error {
		if visited++; visited > maxVisited {
			return filepath.SkipAll
		}
		if err != nil {
			return nil // a directory that went away holds nothing a jail needs
		}
		p := "/" + strings.TrimPrefix(strings.TrimPrefix(host, r.root), "/")
		if d.IsDir() {
			for _, s := range skipped {
				if p == s {
					return filepath.SkipDir
				}
			}
			return nil
		}
		if d.Type()&fs.ModeSymlink == 0 {
			return nil
		}
		if target, err := os.Readlink(host); err == nil {
			if below, ok := strings.CutPrefix(absolute(p, target), "/etc/"); ok {
				name, _, _ := strings.Cut(below, "/")
				found[name] = true
			}
		}
		return nil
	})
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	return names
}
