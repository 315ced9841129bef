package main

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
)

// installers fill a directory from a cache of the user's, by hard links where they
// can, and are told by one setting to copy instead.
var installers = []struct{ dir, setting string }{
	{".venv", "UV_LINK_MODE=copy"},
	{"node_modules", "package-import-method=copy in .npmrc"},
}

// sampleSize is how many entries of a directory are looked at: an installer links
// all files or none.
const sampleSize = 2048

// linkAdvice says which installed files of a project are hard links. A jail that
// may write them writes into the cache, and so into other projects.
func linkAdvice(project string) string {
	var b strings.Builder
	for _, in := range installers {
		if hasHardLinks(filepath.Join(project, in.dir)) {
			b.WriteString("\n" + in.dir + " holds hard links, so a jail that may write them changes the cache outside\n    install again with " + in.setting + "\n")
		}
	}
	return b.String()
}

func hasHardLinks(dir string) bool {
	left, errFound := sampleSize, errors.New("found")
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if left--; err != nil || left < 0 {
			return fs.SkipAll
		}
		if !e.Type().IsRegular() {
			return nil
		}
		fi, err := e.Info()
		if err != nil {
			return nil
		}
		if st, ok := fi.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
			return errFound
		}
		return nil
	})
	return errors.Is(err, errFound)
}
