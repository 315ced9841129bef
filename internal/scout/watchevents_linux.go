package scout

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

const (
	maxOverflows = 8  // after so many lost events the command is ended
	maxStale     = 64 // names that could not be found again before all is looked through
)

// events handles the events of one read. more says that there may be others.
func (w *watcher) events() (more bool, err error) {
	n, err := unix.Read(w.notify, w.buffer[:])
	switch err {
	case nil:
	case unix.EAGAIN:
		return false, nil
	case unix.EINTR:
		return true, nil
	default:
		return false, err
	}
	return true, eachEvent(w.buffer[:n], w.event)
}

func (w *watcher) event(wd int32, mask uint32, name string) error {
	w.desk.notifier.hear(wd, mask, name)
	switch {
	case mask&unix.IN_Q_OVERFLOW != 0:
		return w.overflowed()
	case mask&unix.IN_IGNORED != 0:
		delete(w.nodes, wd)
		delete(w.files, wd)
		return nil
	case mask&unix.IN_MODIFY != 0:
		if p, ok := w.files[wd]; ok {
			return w.again(p)
		}
		return nil
	}
	if n := w.nodes[wd]; n != nil && n.visited && name != "" {
		return w.named(n, name, mask&unix.IN_ISDIR != 0)
	}
	return nil
}

// named handles a name that was made or moved into n.
func (w *watcher) named(n *node, name string, isDir bool) error {
	rel := n.below(name)
	if n.root.kept[rel] {
		return w.replaced(n, name)
	}
	if !n.root.Write {
		return nil
	}
	isLayout := n.kind != gitKind && slices.Contains(layout, strings.ToLower(name))
	meant := w.protects(n, name) || n.root.included[rel] || n.root.designate[rel] != plainKind
	if !isDir && !isLayout && !meant && classOf(n.kind, name, true) == child.ClassNone {
		return nil
	}
	dir, err := n.root.openRel(n.rel(), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return w.lostSight()
	}
	defer dir.Close()
	st, err := lstat(dir, name)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return w.lostSight()
	}
	if isLayout { // it may have become a git directory
		w.fresh = append(w.fresh, visit{root: n.root, parent: n.parent, name: n.name})
	}
	mode := fs.FileMode(0)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		mode = fs.ModeDir
	case unix.S_IFLNK:
		mode = fs.ModeSymlink
	}
	return w.entry(n, dir, name, mode, true, false)
}

// replaced is for a name that the jail cannot make: something outside did, and
// what the jail has mounted there no longer covers it. The daemon mounts it anew, or
// the watch is over.
func (w *watcher) replaced(n *node, name string) error {
	if err := w.stop(child.ClassReplaced, n.path(name)); err != nil {
		return err
	}
	if err := w.say(child.WatchFrame{Kind: child.WatchSeen, Class: child.ClassReplaced, Path: n.path(name)}); err != nil {
		return err
	}
	if w.ask.Restage && !w.ended {
		return w.order()
	}
	return failure(child.ClassReplaced)
}

// again judges a file that may have changed.
func (w *watcher) again(p judged) error {
	dir, err := p.dir.root.openRel(p.dir.rel(), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return w.lostSight()
	}
	defer dir.Close()
	st, err := lstat(dir, p.name)
	if err != nil {
		return nil // renamed: its new name has an event of its own
	}
	mode := fs.FileMode(0)
	if isLink(st) {
		mode = fs.ModeSymlink
	}
	return w.entry(p.dir, dir, p.name, mode, false, false)
}

// lostSight counts names that could not be found where they were made. Each that
// still is has been moved, and is seen again there; one that is moved without end
// is not, so in the end everything is looked through while nothing moves.
func (w *watcher) lostSight() error {
	if w.stale++; w.stale < maxStale {
		return nil
	}
	w.stale = 0
	return w.lookAgain()
}

// overflowed is for events that the kernel has dropped.
func (w *watcher) overflowed() error {
	if w.overflows++; w.overflows > maxOverflows {
		return failure(child.ClassTooMany)
	}
	return w.lookAgain()
}

// lookAgain stops the command and looks through everything.
func (w *watcher) lookAgain() error {
	if err := w.stop(child.ClassNone, ""); err != nil {
		return err
	}
	for _, r := range w.roots {
		w.fresh = append(w.fresh, visit{root: r, initial: true})
	}
	for len(w.fresh) > 0 || len(w.later) > 0 {
		queue := append(w.fresh, w.later...)
		w.fresh, w.later = nil, nil
		for _, v := range queue {
			if err := w.look(v); err != nil {
				return err
			}
		}
	}
	return nil
}
