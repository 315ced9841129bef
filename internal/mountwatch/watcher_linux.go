package mountwatch

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Watcher holds the mount tables of all jails.
type Watcher struct {
	epoll int
	wake  int // an eventfd that ends the goroutine
	done  chan struct{}

	mu      sync.Mutex
	watches map[int32]*Watch
	next    int32
}

// Watch is the table of one jail.
type Watch struct {
	w       *Watcher
	key     int32
	places  []string
	changed func(*Watch)

	mu  sync.Mutex // of what follows
	ids map[string]mount
	fd  int // -1 when closed
}

// New starts a Watcher. Close ends it.
func New() (*Watcher, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("watch mounts: %w", err)
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err == nil {
		err = unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, wake, &unix.EpollEvent{Events: unix.EPOLLIN})
	}
	if err != nil {
		unix.Close(epoll)
		return nil, fmt.Errorf("watch mounts: %w", err)
	}
	w := &Watcher{epoll: epoll, wake: wake, done: make(chan struct{}), watches: map[int32]*Watch{}}
	go w.run()
	return w, nil
}

// Add watches the namespace of a living process, in which there is a mount at
// each of the places. changed is called, on a goroutine of its own, for every
// change of the table. It comes before the table is read, which takes as long as
// the change itself holds the kernel's lock: stop the jail first, then ask Lost.
func (w *Watcher) Add(process *os.File, places []string, changed func(*Watch)) (*Watch, error) {
	fd, err := openTable(process)
	if err != nil {
		return nil, err
	}
	return w.add(&Watch{w: w, places: places, fd: fd, changed: changed})
}

// Own watches the calling thread's own namespace, whatever is mounted there.
func (w *Watcher) Own(changed func()) (*Watch, error) {
	fd, err := openOwn()
	if err != nil {
		return nil, err
	}
	return w.add(&Watch{w: w, fd: fd, changed: func(*Watch) { changed() }})
}

func (w *Watcher) add(watch *Watch) (*Watch, error) {
	fd := watch.fd
	if err := watch.Renew(); err != nil {
		unix.Close(fd)
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	watch.key = w.next
	// A change since the table was opened is reported at once.
	if err := unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLPRI, Fd: watch.key}); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("watch mounts: %w", err)
	}
	w.watches[watch.key] = watch
	return watch, nil
}

// Lost returns a *LostError when a mount has gone, and when that cannot be told.
func (w *Watch) Lost() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fd < 0 {
		return nil
	}
	table, err := readTable(w.fd)
	if err != nil {
		return &LostError{}
	}
	places, err := lost(table, w.ids)
	if err != nil || len(places) > 0 {
		return &LostError{Places: places}
	}
	return nil
}

// Renew notes the mounts that are at the places now, in place of those that were. A
// place without one stays lost, and is a *LostError.
func (w *Watch) Renew() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fd < 0 {
		return os.ErrClosed
	}
	table, err := readTable(w.fd)
	if err != nil {
		return err
	}
	ids, err := noted(table, w.places)
	if ids == nil {
		return err
	}
	var missing *LostError
	if errors.As(err, &missing) {
		for id, m := range w.ids {
			if slices.Contains(missing.Places, m.place) {
				ids[id] = m
			}
		}
	}
	w.ids = ids
	return err
}

// On returns the kernel's number of the mount on which the one at place stands, or
// stood: what is mounted there anew has to stand on the same. Zero is none.
func (w *Watch) On(place string) (mount uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.ids {
		if m.place != place {
			continue
		}
		if _, ours := w.ids[m.parent]; ours && w.ids[m.parent].place == place {
			continue // one on another at the same place
		}
		n, err := strconv.ParseUint(m.parent, 10, 64)
		if err != nil || mount != 0 {
			return 0
		}
		mount = n
	}
	return mount
}

// Close ends the watch and lets the namespace go. It may be called again.
func (w *Watch) Close() error {
	w.w.mu.Lock()
	delete(w.w.watches, w.key)
	w.w.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fd >= 0 {
		unix.Close(w.fd) // leaves the epoll with it
		w.fd = -1
	}
	return nil
}

// Close ends the Watcher, whose watches report nothing from then on.
func (w *Watcher) Close() error {
	if _, err := unix.Write(w.wake, []byte{1, 0, 0, 0, 0, 0, 0, 1}); err != nil { // any count, in either byte order
		return fmt.Errorf("end the watch of mounts: %w", err)
	}
	<-w.done
	unix.Close(w.wake)
	return unix.Close(w.epoll)
}

// run waits for changes. The kernel reports each once.
func (w *Watcher) run() {
	defer close(w.done)
	events := make([]unix.EpollEvent, 64)
	for {
		n, err := unix.EpollWait(w.epoll, events, -1)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return
		}
		for _, e := range events[:n] {
			if e.Fd == 0 {
				return
			}
			w.mu.Lock()
			watch := w.watches[e.Fd]
			w.mu.Unlock()
			if watch != nil {
				go watch.changed(watch)
			}
		}
	}
}
