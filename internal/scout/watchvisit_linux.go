package scout

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// visit is a directory to look through.
type visit struct {
	root    *root
	parent  *node
	name    string
	initial bool      // it may have been there before the command
	known   *surveyed // whose directories are looked at by themselves
}

func (v visit) rel() string {
	if v.parent == nil {
		return ""
	}
	return v.parent.below(v.name)
}

func (v visit) knows(name string) bool { return v.known != nil && v.known.below[name] != nil }

// look puts a directory under watch and judges every name in it, in this order,
// so that nothing is made unseen in between. Directories in it are queued.
func (w *watcher) look(v visit) error {
	dir, err := w.openDir(v.root, v.rel(), !v.initial)
	if err != nil {
		return w.tolerate(err)
	}
	defer dir.Close()
	n, err := w.watchDir(dir)
	if err != nil {
		return w.tolerate(err)
	}
	names, err := readNames(dir)
	if err != nil {
		return w.tolerate(err)
	}
	all, err := w.settle(v, n, dir, names)
	if err != nil {
		return err
	}
	for _, d := range names {
		if v.knows(d.Name()) && d.IsDir() {
			continue
		}
		if err := w.entry(n, dir, d.Name(), d.Type(), all, v.initial); err != nil {
			return err
		}
	}
	if v.initial && n.kind == gitKind {
		w.readOldConfig(n, dir)
	}
	return nil
}

// settle fills in what n is. all says whether what was there before the command is
// judged as well: in a git directory that was not one, or was not here.
func (w *watcher) settle(v visit, n *node, dir *os.File, names []fs.DirEntry) (all bool, err error) {
	before, visited := n.kind, n.visited
	n.root, n.parent, n.name, n.visited = v.root, v.parent, v.name, true
	n.kind, n.inGit = plainKind, false
	if p := v.parent; p != nil {
		n.kind, n.inGit = childKind(p.kind, p.inGit, v.name), p.inGit || isGit(v.name)
	}
	if k, ok := v.root.designate[v.rel()]; ok {
		n.kind = k
	}
	n.layout = n.layout && n.kind != gitKind
	if n.kind != gitKind && isLayout(names) {
		n.layout = n.layout || visited || !v.initial
		n.kind = gitKind
	}
	if n.kind != gitKind {
		return !v.initial && !visited, nil
	}
	if visited {
		return before != gitKind, nil
	}
	n.old = v.initial
	st, _, err := stat(dir)
	return !v.initial || !w.before(st), err
}

func isLayout(names []fs.DirEntry) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(names, func(d fs.DirEntry) bool { return strings.EqualFold(d.Name(), name) })
	}
	return has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

func readNames(dir *os.File) (all []fs.DirEntry, err error) {
	for {
		batch, err := dir.ReadDir(1024)
		all = append(all, batch...)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// entry judges one name, or queues what lies below it.
func (w *watcher) entry(n *node, dir *os.File, name string, mode fs.FileMode, all, initial bool) error {
	rel := n.below(name)
	if n.root.kept[rel] && !n.root.open[rel] {
		return nil // nothing of the command's
	}
	if n.root.Write && w.protects(n, name) {
		return w.judge(n, dir, name, child.ClassAsked, all)
	}
	if mode.IsDir() {
		if w.ignores(n, name) {
			return nil
		}
		v := visit{root: n.root, parent: n, name: name, initial: initial}
		if initial {
			w.later = append(w.later, v)
		} else {
			w.fresh = append(w.fresh, v)
		}
		return nil
	}
	if n.root.kept[rel] || !n.root.Write {
		return nil
	}
	class := classOf(n.kind, name, mode&fs.ModeSymlink != 0)
	switch {
	case n.root.included[rel]:
		class = child.ClassIncluded
	case n.root.designate[rel] != plainKind && mode&fs.ModeSymlink != 0:
		class = child.ClassPointer
	}
	if class == child.ClassNone {
		return nil
	}
	return w.judge(n, dir, name, class, all)
}

// protects says that the policy protects a name besides what always is.
func (w *watcher) protects(n *node, name string) bool {
	return w.asked.name([]byte(name)) || w.asked.hasPaths() && w.asked.path(n.path(name))
}

// ignores says that nothing below a directory needs to be seen.
func (w *watcher) ignores(n *node, name string) bool {
	if !n.root.Write {
		return !n.root.open[n.below(name)]
	}
	return childKind(n.kind, n.inGit, name) == quietKind
}

// tolerate passes on what must not be overlooked: that nothing more can be
// watched. What has gone meanwhile, or is not the caller's to read, is no loss.
func (w *watcher) tolerate(err error) error {
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.ENOMEM):
		return failure(child.ClassLimit)
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.EIO):
		return failure(child.ClassBroken)
	}
	return nil
}
