package scout

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// root is a granted directory under watch.
type root struct {
	child.WatchRoot
	file      *os.File
	kept      map[string]bool    // mounts in the jail
	open      map[string]bool    // those of kept that the jail may write below
	included  map[string]bool    // files that a git configuration includes, absent at the start
	designate map[string]dirKind // directories that a git configuration makes something of
}

// node is a watched directory. It is known by the kernel's number of its watch,
// which stays when the directory is renamed.
type node struct {
	wd      int32
	root    *root
	parent  *node // nil for the root's own
	name    string
	kind    dirKind
	inGit   bool // it is called .git, or lies below one that is
	old     bool // it was there before the command
	layout  bool // a git directory by its contents, made one by the command
	visited bool
}

// rel is the name of n below its root, "" for the root itself.
func (n *node) rel() string {
	if n.parent == nil {
		return ""
	}
	return n.parent.below(n.name)
}

// below is the name below the root of what is called name in n.
func (n *node) below(name string) string {
	if rel := n.rel(); rel != "" {
		return rel + "/" + name
	}
	return name
}

// path is for messages.
func (n *node) path(name string) string { return filepath.Join(n.root.Path, n.rel(), name) }

// openRel opens a name below the root without following a link. Mounts of the
// node's are crossed: they came along into the jail.
func (r *root) openRel(rel string, flags uint64) (*os.File, error) {
	if rel == "" {
		rel = "."
	}
	return openHow(int(r.file.Fd()), rel, flags, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
}

// openDir opens a directory for reading its names. One that the command has made
// unreadable is made readable first: the caller outside would use it all the same.
func (w *watcher) openDir(r *root, rel string, fresh bool) (*os.File, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NONBLOCK
	f, err := r.openRel(rel, flags)
	if !fresh || !os.IsPermission(err) {
		return f, err
	}
	dir, err := r.openRel(rel, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	st, _, err := stat(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Chmod(fdPath(dir), uint32(st.Mode&0o777|0o700)); err != nil {
		return nil, err
	}
	return r.openRel(rel, flags)
}

// watchDir puts a directory under watch and returns its node, a new one if it had
// none.
func (w *watcher) watchDir(dir *os.File) (*node, error) {
	wd, err := unix.InotifyAddWatch(w.notify, fdPath(dir), unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ONLYDIR)
	if err != nil {
		return nil, err
	}
	n := w.nodes[int32(wd)]
	if n == nil {
		n = &node{wd: int32(wd)}
		w.nodes[n.wd] = n
	}
	return n, nil
}

// judged is a file that is judged by its content, under watch for as long as it
// may change.
type judged struct {
	dir  *node
	name string
}

// watchFile puts a file under watch by whatever name it is changed.
func (w *watcher) watchFile(n *node, f *os.File, name string) error {
	wd, err := unix.InotifyAddWatch(w.notify, fdPath(f), unix.IN_MODIFY)
	if err != nil {
		return err
	}
	w.files[int32(wd)] = judged{n, name}
	return nil
}
