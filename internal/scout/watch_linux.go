package scout

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/seqpacket"
)

// watcher looks for new names in what a command may write, as the caller and from
// outside of the jail, for as long as the command runs.
type watcher struct {
	conn    *seqpacket.Conn
	ask     *child.WatchRequest
	desk    *desk
	notify  int // inotify, the desk's
	buffer  [eventsBuffer]byte
	since   unix.Timespec // files changed before this are not the command's
	roots   []*root
	nodes   map[int32]*node
	files   map[int32]judged
	asked   patterns
	fresh   []visit // directories that the command made: looked through at once
	later   []visit // those from before: looked through beside the command
	running bool    // the command may
	frozen  bool
	ended   bool // the command has

	moved, seen, notable, stale, overflows int
}

// failure ends a watch: nothing can be promised any more, for this reason.
type failure child.WatchClass

func (f failure) Error() string { return fmt.Sprintf("the watch failed (%d)", uint8(f)) }

func checkWatch(r *child.WatchRequest) error {
	if len(r.Roots) == 0 || len(r.Roots) > maxPaths {
		return fmt.Errorf("%d directories to watch", len(r.Roots))
	}
	err := checkPath("home", r.Home)
	for _, root := range r.Roots {
		err = errors.Join(err, checkPath("root", root.Path))
	}
	return err
}

// serveWatch watches until the daemon ends it. What the command starts with is
// watched before the first frame: all that a survey knows, else its git directories
// and the tops of what it may write, and what lies deeper while it runs. stays says
// that the scout has told the daemon that it stays.
func serveWatch(conn *seqpacket.Conn, d *desk, ask *child.WatchRequest, files []*os.File) (stays bool, err error) {
	w := &watcher{conn: conn, desk: d, ask: ask, nodes: map[int32]*node{}, files: map[int32]judged{}}
	if err = w.begin(files); err == nil {
		err = w.run()
	}
	seqpacket.CloseAll(files)
	if err == nil {
		end := child.WatchFrame{Kind: child.WatchDone}
		if stays = d.stays(); stays {
			end.Kind = child.WatchStays
		}
		return stays, w.say(end)
	}
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	class := child.ClassBroken
	if f, ok := errors.AsType[failure](err); ok {
		class = child.WatchClass(f)
	}
	return false, w.say(child.WatchFrame{Kind: child.WatchFailed, Class: class, Path: err.Error()})
}

// begin watches what has to be watched before the command runs.
func (w *watcher) begin(files []*os.File) (err error) {
	if len(files) != len(w.ask.Roots) {
		return errors.New("not one descriptor for each root")
	}
	if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &w.since); err != nil {
		return err
	}
	if w.notify = w.desk.notifier.fd; w.notify < 0 {
		return failure(child.ClassLimit)
	}
	for _, p := range w.ask.Protect {
		w.asked.add(p)
	}
	for i, r := range w.ask.Roots {
		w.roots = append(w.roots, &root{WatchRoot: r, file: files[i], kept: set(r.Kept), open: set(r.Open),
			included: map[string]bool{}, designate: map[string]dirKind{}})
	}
	for _, r := range w.roots {
		if err := w.beginAt(r); err != nil {
			return err
		}
	}
	if err := w.lookAtGit(); err != nil {
		return err
	}
	w.running = true
	return w.say(child.WatchFrame{Kind: child.WatchReady})
}

// beginAt watches a root by what is known of it.
func (w *watcher) beginAt(r *root) error {
	known := w.desk.surveys[r.Path]
	_, id, err := stat(r.file)
	if err == nil && r.Write && known != nil && known.id == id && !w.desk.notifier.doubt {
		return w.adopt(r, known)
	}
	return w.look(visit{root: r, initial: true})
}

// lookAtGit looks through the git directories that are queued and what is of a
// kind in them, and leaves the rest for later.
func (w *watcher) lookAtGit() error {
	var rest []visit
	for len(w.later) > 0 {
		v := w.later[0]
		w.later = w.later[1:]
		if childKind(v.parent.kind, v.parent.inGit, v.name) == plainKind && v.root.Write {
			rest = append(rest, v)
			continue
		}
		if err := w.look(v); err != nil {
			return err
		}
	}
	w.later = rest
	return nil
}

func set(names []string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// run handles what happens, then what is queued, then waits.
func (w *watcher) run() error {
	for {
		if err := w.catchUp(); err != nil {
			return err
		}
		if w.frozen {
			w.frozen = false
			if err := w.say(child.WatchFrame{Kind: child.WatchCalm}); err != nil {
				return err
			}
			continue
		}
		if w.ended && len(w.later) == 0 {
			return w.last()
		}
		if len(w.later) > 0 {
			v := w.later[0]
			w.later = w.later[1:]
			if err := w.look(v); err != nil {
				return err
			}
		}
		if err := w.wait(len(w.later) > 0); err != nil {
			return err
		}
	}
}

// catchUp handles all events so far and all that the command has made.
func (w *watcher) catchUp() error {
	for {
		more, err := w.events()
		if err != nil {
			return err
		}
		if len(w.fresh) == 0 && !more {
			return nil
		}
		for len(w.fresh) > 0 {
			v := w.fresh[0]
			w.fresh = w.fresh[1:]
			if err := w.look(v); err != nil {
				return err
			}
		}
	}
}

// wait returns when there are events or orders, or at once.
func (w *watcher) wait(busy bool) error {
	timeout := -1
	if busy || w.ended {
		timeout = 0
	}
	fds := []unix.PollFd{{Fd: int32(w.notify), Events: unix.POLLIN}, {Fd: daemonFD, Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, timeout)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if fds[1].Revents == 0 || w.ended && fds[1].Revents&unix.POLLHUP == 0 {
			return nil
		}
		return w.order()
	}
}

// order takes one order of the daemon's.
func (w *watcher) order() error {
	b, err := w.conn.RecvFrame(1)
	switch {
	case err != nil:
		return err
	case string(b) == string(child.OrderEnd):
		w.ended = true
	case string(b) == string(child.OrderRestaged) && w.ask.Restage:
	case string(b) != string(child.OrderFrozen):
		return errors.New("an unknown order")
	}
	return nil
}

// stop has the daemon stop the command, and returns when it stands still or has
// ended.
func (w *watcher) stop(class child.WatchClass, path string) error {
	if w.frozen || w.ended {
		return nil
	}
	if err := w.say(child.WatchFrame{Kind: child.WatchAlarm, Class: class, Path: path}); err != nil {
		return err
	}
	w.frozen = true
	return w.order()
}

// last looks again at each file that is judged by its content: a mapping of it
// may have been changed without an event.
func (w *watcher) last() error {
	for _, p := range w.files {
		if err := w.again(p); err != nil {
			return err
		}
	}
	return nil
}

func (w *watcher) say(f child.WatchFrame) error { return w.conn.SendFrame(child.EncodeWatch(f)) }
