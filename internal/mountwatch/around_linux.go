package mountwatch

import (
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// Around is what is mounted at places of the node, below them, and where they lie. A
// copy of it, as a jail has one, stays what it was when that changes on the node.
type Around struct {
	places []string

	mu      sync.Mutex // of what follows
	fd      int        // the table; -1 when closed
	mounts  []string
	changed bool
}

// Look notes what is mounted around the places, which are clean. It is for threads
// in the node's own mount namespace.
func Look(places []string) (*Around, error) {
	fd, err := openOwn()
	if err != nil {
		return nil, err
	}
	a := &Around{places: places, fd: fd}
	if a.mounts, err = a.now(); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return a, nil
}

// openOwn opens the table of the calling thread's namespace.
func openOwn() (int, error) {
	fd, err := unix.Open("/proc/thread-self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open own mount table: %w", err)
	}
	return fd, nil
}

// Changed reports whether something was mounted or unmounted there since Look, or
// whether that cannot be told. The table is read only when the kernel says that
// something has changed in it.
func (a *Around) Changed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.changed || a.fd < 0 {
		return true
	}
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(a.fd), Events: unix.POLLPRI}}, 0)
	if err == nil && n == 0 {
		return false
	}
	now, err := a.now()
	a.changed = err != nil || !slices.Equal(a.mounts, now)
	return a.changed
}

// now is what is mounted around the places. The numbers of file systems count as well
// as those of mounts, which the kernel gives again to others.
func (a *Around) now() ([]string, error) {
	table, err := readTable(a.fd)
	if err != nil {
		return nil, err
	}
	return around(table, a.places)
}

// Close lets the table go. It may be called again.
func (a *Around) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fd >= 0 {
		unix.Close(a.fd)
		a.fd = -1
	}
	return nil
}
