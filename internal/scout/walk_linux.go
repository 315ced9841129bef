package scout

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// folder is a directory below the root of a walk.
type folder struct {
	name     string // relative; "." is the root
	depth    int
	git      gitPart
	apart    bool // on a mount of its own, or below one
	packages bool // in a tree of a package manager
	parent   *surveyed
	place    *surveyed // what is known of it
}

// in is the name of an entry of p as the walk's root knows it.
func (p folder) in(name string) string {
	if p.name == "." {
		return name
	}
	return p.name + "/" + name
}

// walk looks at every directory of a tree once: as the caller, never through a
// link, and never beyond its bounds. Which of two directories comes first is not
// said; the order of what is found is for visit's owner to make.
type walk struct {
	root       *os.File
	maxDepth   int
	maxEntries int64
	// visit reads the directory fd and returns those below to go on with. It is
	// called by several threads.
	visit func(fd int, buf []byte, p folder) ([]folder, error)
	// gone is told of a directory that is not there any more, and shut that there is
	// one which only others can open. They may be nil.
	gone func(p folder)
	shut func(p folder)

	once    sync.Once
	helpers sync.WaitGroup
	entries atomic.Int64
	idle    atomic.Int32 // threads that wait
	mu      sync.Mutex
	more    sync.Cond
	todo    []folder // that no thread has taken
	busy    int      // threads that may find more
	err     error
}

// Bounds that a walk ran into.
var (
	errTooMany = errors.New("too many entries")
	errTooDeep = errors.New("too deep")
)

// count adds n entries to what was seen.
func (w *walk) count(n int64) error {
	if w.entries.Add(n) > w.maxEntries {
		return errTooMany
	}
	return nil
}

const listingBuffer = 32 << 10

// run walks through the whole tree until there is nothing left or something failed.
func (w *walk) run() error { return w.runFrom([]folder{{name: "."}}) }

// runFrom walks through these directories and what lies below them.
func (w *walk) runFrom(todo []folder) error {
	w.more.L = &w.mu
	w.todo = todo
	w.busy = 1
	w.work()
	w.helpers.Wait()
	return w.err
}

// manyFolders is when a second thread is worth its start.
const manyFolders = 32

// help starts the other threads. Most workspaces are looked through before they
// would run.
func (w *walk) help() {
	others := min(runtime.GOMAXPROCS(0), 4) - 1
	w.mu.Lock()
	w.busy += others
	w.mu.Unlock()
	for range others {
		w.helpers.Go(w.work)
	}
}

// work takes directories until there are none. It keeps what it finds to itself
// unless another waits: handing over costs more than a small directory.
func (w *walk) work() {
	buf := make([]byte, listingBuffer)
	var mine []folder
	for {
		if len(mine) == 0 {
			if mine = w.take(); len(mine) == 0 {
				return
			}
		}
		p := mine[len(mine)-1]
		below, err := w.look(p, buf)
		mine = append(mine[:len(mine)-1], below...)
		if err != nil {
			w.fail(err)
			return
		}
		if len(mine) > manyFolders {
			w.once.Do(w.help)
		}
		if w.idle.Load() > 0 && len(mine) > 1 {
			half := len(mine) / 2
			w.share(mine[:half])
			mine = append(mine[:0], mine[half:]...)
		}
	}
}

// take waits for something to do. It is empty when all is done or has failed.
func (w *walk) take() []folder {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy--
	w.idle.Add(1)
	defer w.idle.Add(-1)
	for len(w.todo) == 0 && w.busy > 0 && w.err == nil {
		w.more.Wait()
	}
	if len(w.todo) == 0 || w.err != nil {
		w.more.Broadcast()
		return nil
	}
	w.busy++
	mine := w.todo
	w.todo = nil
	return mine
}

func (w *walk) share(places []folder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.todo = append(w.todo, places...)
	w.more.Signal()
}

func (w *walk) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy--; w.err == nil {
		w.err = err
	}
	w.more.Broadcast()
}

// look opens p and visits it. What has gone by now, or has become something else,
// is not there to be protected.
func (w *walk) look(p folder, buf []byte) ([]folder, error) {
	if p.depth > w.maxDepth {
		return nil, &os.PathError{Op: "walk", Path: p.name, Err: errTooDeep}
	}
	resolve := uint64(beneath)
	if p.apart {
		resolve &^= unix.RESOLVE_NO_XDEV
	}
	fd, err := openRaw(int(w.root.Fd()), p.name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, resolve)
	switch {
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP):
		if w.gone != nil {
			w.gone(p)
		}
		return nil, nil
	case errors.Is(err, unix.EXDEV) && !p.apart:
		p.apart = true
		return []folder{p}, nil
	case errors.Is(err, unix.ENAMETOOLONG):
		return nil, &os.PathError{Op: "walk", Path: p.name, Err: errTooDeep}
	case errors.Is(err, unix.EACCES):
		if err = w.unreadable(p); err == nil && w.shut != nil {
			w.shut(p)
		}
		return nil, err
	case err != nil:
		return nil, err
	}
	defer unix.Close(fd)
	return w.visit(fd, buf, p)
}

// unreadable refuses a directory that cannot be listed and yet entered, by its
// owner at least, who gives himself the right: what lies in it could be changed.
func (w *walk) unreadable(p folder) error {
	var st unix.Stat_t
	if err := unix.Fstatat(int(w.root.Fd()), p.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil
	}
	enter := unix.Faccessat(int(w.root.Fd()), p.name, unix.X_OK, 0)
	if int(st.Uid) != unix.Geteuid() && enter != nil {
		return nil
	}
	return &os.PathError{Op: "walk", Path: p.name, Err: unix.EACCES}
}
