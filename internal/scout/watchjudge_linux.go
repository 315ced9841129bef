package scout

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/reach"
)

// maxJudged bounds what is read of one file in bytes. More than this of a
// configuration is nobody's.
const maxJudged = 1 << 20

// before reports whether a file was last changed before the command began. The
// kernel keeps that time, and lets nobody set it.
func (w *watcher) before(st unix.Stat_t) bool {
	return st.Ctim.Sec < w.since.Sec || st.Ctim.Sec == w.since.Sec && st.Ctim.Nsec < w.since.Nsec
}

// judge looks at a name of a class and deals with it if it does harm. all says
// that a file from before the command counts as well.
func (w *watcher) judge(n *node, dir *os.File, name string, class child.WatchClass, all bool) error {
	if class == child.ClassConfig && n.old && w.ask.GitConfig {
		return nil
	}
	st, err := lstat(dir, name)
	if err != nil {
		return nil // gone again
	}
	old := w.before(st)
	if old && !all {
		if !isLink(st) && byContent(n, name, class) {
			f, err := openBelow(dir, name)
			if err != nil {
				return nil
			}
			defer f.Close()
			return w.tolerate(w.watchFile(n, f, name))
		}
		return nil
	}
	harm, err := w.harms(n, dir, name, class, st)
	if err != nil || !harm {
		return err
	}
	if old && n.layout {
		// A file of the caller's own that was made a part of a git directory: what
		// made it one goes, not the file.
		name = "HEAD"
	}
	return w.condemn(n, dir, name, class)
}

func isLink(st unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFLNK }

// byContent says that the name alone does no harm.
func byContent(n *node, name string, class child.WatchClass) bool {
	switch class {
	case child.ClassConfig:
		return strings.EqualFold(name, "config") || !n.old || n.ofWorktree()
	case child.ClassCommonDir:
		return n.ofWorktree()
	case child.ClassTodo:
		return true
	case child.ClassPointer:
		return isGit(name)
	}
	return false
}

// ofWorktree reports whether n is the git directory of a worktree.
func (n *node) ofWorktree() bool { return n.parent != nil && n.parent.kind == worktreesKind }

// harms says whether a file does harm, and has it watched for change where it
// does not yet.
func (w *watcher) harms(n *node, dir *os.File, name string, class child.WatchClass, st unix.Stat_t) (bool, error) {
	if !byContent(n, name, class) || isLink(st) {
		return true, nil
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink > 1 {
		return true, nil // changed by another name, or from the other end
	}
	f, err := openHow(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NONBLOCK, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	if err != nil {
		return true, nil // outside it can be made readable
	}
	defer f.Close()
	if err := w.watchFile(n, f, name); err != nil {
		return false, w.tolerate(err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxJudged+1))
	if err != nil || len(text) > maxJudged {
		return true, nil
	}
	return w.harmful(n, class, text)
}

// harmful judges a text by what git would make of it.
func (w *watcher) harmful(n *node, class child.WatchClass, text []byte) (bool, error) {
	switch class {
	case child.ClassConfig:
		_, found := runsProgram(text)
		return found, nil
	case child.ClassCommonDir:
		line := strings.TrimRight(string(text), "\n")
		return line != "../.." && line != "", nil
	case child.ClassTodo:
		return runsLine(text), nil
	}
	well, err := w.leadsWell(n, text)
	return !well, err
}

// leadsWell judges a .git that is a file. No link may be on the way to where it
// leads, and if the command could write there, it is watched as a git directory
// from then on. The command stands still meanwhile where that is not below what it
// was granted: a file system there may keep whoever looks waiting, who sees nothing
// else then.
func (w *watcher) leadsWell(n *node, text []byte) (bool, error) {
	target, ok := strings.CutPrefix(string(text), "gitdir:")
	if !ok {
		return true, nil // nothing to git
	}
	target = strings.TrimRight(strings.TrimLeft(target, " \t"), "\r\n")
	if !filepath.IsAbs(target) {
		target = n.path("") + "/" + target
	}
	r, rel := w.rootOf(filepath.Clean(target))
	if (r == nil || strings.Contains(target, "/../")) && w.running {
		if err := w.stop(child.ClassPointer, n.path(".git")); err != nil {
			return false, err
		}
	}
	at := strings.LastIndexByte(target, '/')
	base := target[at+1:]
	if base == "" || base == "." || base == ".." || !noLinks(target[:at+1]) {
		return false, nil
	}
	if r == nil || rel == "" || r.kept[rel] && !r.open[rel] {
		return noLinks(target), nil
	}
	if r.designate[rel] == gitKind {
		return true, nil
	}
	parent := w.nodeAt(r, filepath.Dir(rel))
	if parent == nil {
		return false, nil // a place that is not looked at
	}
	if childKind(parent.kind, parent.inGit, base) == gitKind {
		return true, nil
	}
	r.designate[rel] = gitKind // git makes the pointer before what it points to
	w.fresh = append(w.fresh, visit{root: r, parent: parent, name: base})
	return true, nil
}

// noLinks reports whether a directory is there with no link on the way. The path is
// of a command's making.
func noLinks(dir string) bool {
	f, err := reach.Open(dir, false)
	if err != nil {
		return false
	}
	defer f.Close()
	st, _, err := stat(f)
	return err == nil && isDir(st)
}

// rootOf returns the writable root that a clean path lies in, the innermost.
func (w *watcher) rootOf(path string) (found *root, rel string) {
	for _, r := range w.roots {
		if name, ok := below(r.Path, path); ok && r.Write && (found == nil || len(r.Path) > len(found.Path)) {
			found, rel = r, name
		}
	}
	return found, rel
}

// nodeAt returns the node of a directory by its name below a root, nil if it is
// not watched.
func (w *watcher) nodeAt(r *root, rel string) *node {
	if rel == "." {
		rel = ""
	}
	dir, err := r.openRel(rel, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil
	}
	defer dir.Close()
	n, err := w.watchDir(dir)
	if err != nil || !n.visited {
		return nil
	}
	return n
}
