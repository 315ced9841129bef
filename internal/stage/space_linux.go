package stage

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Space is what a jail writes to in memory: its home, /tmp and /dev/shm. Apply and
// Attach put into it what they mount. A descriptor of each is held, because nobody
// can ask a namespace whose last process has gone.
type Space struct {
	rooms []room
}

type room struct {
	at string
	fd int
}

// hold adds a file system; the descriptor stays the caller's.
func (s *Space) hold(at string, fd int) error {
	if s == nil {
		return nil
	}
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	s.rooms = append(s.rooms, room{at, own})
	return nil
}

// Full is a file system that has no room left.
type Full struct {
	At    string // where the jail has it
	Size  int64  // bytes that it may hold
	Names int64  // files that it may hold, where it is these that have run out; else 0
}

// Full returns the first by name of those that have no room left.
func (s *Space) Full() (full Full, ok bool) {
	if s == nil {
		return full, false
	}
	slices.SortFunc(s.rooms, func(a, b room) int { return strings.Compare(a.at, b.at) })
	for _, r := range s.rooms {
		var st unix.Statfs_t
		if err := unix.Fstatfs(r.fd, &st); err != nil || st.Bfree > 0 && st.Ffree > 0 {
			continue
		}
		full = Full{At: r.at, Size: int64(st.Blocks) * st.Bsize}
		if st.Bfree > 0 {
			full.Names = int64(st.Files)
		}
		return full, true
	}
	return full, false
}

// Close lets go of them; what a jail has mounted it keeps. It may be called again.
func (s *Space) Close() error {
	if s != nil {
		for _, r := range s.rooms {
			unix.Close(r.fd)
		}
		s.rooms = nil
	}
	return nil
}
