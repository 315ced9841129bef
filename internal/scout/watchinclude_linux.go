package scout

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// readOldConfig looks at a git configuration from before the command for what it
// makes of other names in the workspace: files that it includes and that are not
// there yet, and a directory of hooks.
func (w *watcher) readOldConfig(n *node, dir *os.File) {
	f, err := openHow(int(dir.Fd()), "config", unix.O_RDONLY|unix.O_NONBLOCK, unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxJudged))
	if err != nil {
		return
	}
	settings, err := parseGitConfig(text)
	if err != nil {
		return // git does not read it either
	}
	tree := filepath.Dir(n.path("")) // the working tree of a .git
	if !isGit(n.name) {
		tree = n.path("")
	}
	for _, s := range settings {
		switch {
		case (s.section == "include" || s.section == "includeif") && s.key == "path":
			w.include(w.absolute(n.path(""), s.value))
		case s.section == "core" && s.key == "hookspath":
			w.designate(w.absolute(tree, s.value), hooksKind)
		}
	}
}

// absolute resolves a path in a git configuration.
func (w *watcher) absolute(dir, value string) string {
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		return filepath.Join(w.ask.Home, rest)
	}
	if filepath.IsAbs(value) {
		return filepath.Clean(value)
	}
	return filepath.Join(dir, value)
}

func (w *watcher) include(path string) {
	r, rel := w.rootOf(path)
	if r == nil || rel == "" {
		return
	}
	f, err := r.openRel(rel, unix.O_PATH)
	if errors.Is(err, fs.ErrNotExist) {
		r.included[rel] = true
	}
	f.Close()
}

func (w *watcher) designate(path string, kind dirKind) {
	r, rel := w.rootOf(path)
	if r == nil || rel == "" {
		return
	}
	r.designate[rel] = kind
	if parent := w.nodeAt(r, filepath.Dir(rel)); parent != nil {
		w.later = append(w.later, visit{root: r, parent: parent, name: filepath.Base(rel), initial: true})
	}
}
