package scout

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// clean reports whether no descriptor is open but those from before and the inotify:
// one of a client's that stayed here would keep its pipe from ending.
func (d *desk) clean() bool {
	now := openFiles()
	for fd, to := range now {
		// The runtime polls with two of its own.
		if fd != d.notifier.fd && d.own[fd] != to && to != "anon_inode:[eventpoll]" && to != "anon_inode:[eventfd]" {
			return false
		}
	}
	return len(now) > 0
}

// openFiles are the descriptors of this process, and what each is; none if that
// cannot be told.
func openFiles() map[int]string {
	const dir = "/proc/self/fd/"
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	open := map[int]string{}
	for _, e := range names {
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			return nil
		}
		to, err := os.Readlink(dir + e.Name())
		if err != nil && !errors.Is(err, unix.ENOENT) { // the listing's own has gone
			return nil
		}
		if err == nil {
			open[fd] = to
		}
	}
	return open
}
