package scout

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/seqpacket"
)

// Bounds of a walk through a cache, which a jail has filled.
const (
	cacheDepth = 200  // levels, each of which is an open directory
	leastBytes = 4096 // of any entry, so that many empty files are much too
	nameBatch  = 512
)

// serveCache measures or empties the directories that came along. setup is what
// went wrong before.
func serveCache(conn *seqpacket.Conn, req child.CacheRequest, dirs []*os.File, setup error) error {
	w := &cacheWalk{
		req: req, until: time.Now().Add(time.Duration(req.Millis) * time.Millisecond),
		linked: map[inode]bool{},
	}
	for _, dir := range dirs {
		if setup == nil {
			setup = w.top(dir)
		}
	}
	reply := child.CacheReply{Bytes: w.bytes}
	if errors.Is(setup, errEnough) {
		reply.More = true
	} else if setup != nil {
		reply.Err = setup.Error()
	}
	return conn.Send(reply)
}

// errEnough ends a walk before it is through.
var errEnough = errors.New("enough")

// cacheWalk is one walk through the directories of a cache.
type cacheWalk struct {
	req    child.CacheRequest
	until  time.Time
	bytes  int64
	linked map[inode]bool // files with more than one name that were counted
	dir    *os.File       // the directory of the cache that is being walked
}

func (w *cacheWalk) top(dir *os.File) error {
	if w.req.Empty { // a jail may have closed it to itself
		if err := unix.Fchmod(int(dir.Fd()), 0o700); err != nil {
			return err
		}
	}
	f, err := w.open(dir, ".")
	if err != nil {
		return err
	}
	defer f.Close()
	w.dir = f
	return w.walk(f, 0)
}

// walk goes through the entries of dir. What goes away meanwhile was not there.
func (w *cacheWalk) walk(dir *os.File, depth int) error {
	for {
		names, err := dir.Readdirnames(nameBatch)
		if len(names) == 0 {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if time.Now().After(w.until) {
			return errEnough
		}
		for _, name := range names {
			visit := w.count
			if w.req.Empty {
				visit = w.remove
			}
			if err := visit(dir, name, depth); err != nil && !errors.Is(err, unix.ENOENT) {
				return err
			}
		}
		if w.req.Empty { // the position is of no use in a directory that shrinks
			if _, err := dir.Seek(0, io.SeekStart); err != nil {
				return err
			}
		}
	}
}

// count adds what an entry holds, and what lies below it.
func (w *cacheWalk) count(dir *os.File, name string, depth int) error {
	var st unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	id := inode{uint64(st.Dev), st.Ino}
	if st.Nlink > 1 && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		if w.linked[id] {
			return nil
		}
		w.linked[id] = true
	}
	if w.bytes += max(st.Blocks*512, leastBytes); w.bytes > w.req.Enough {
		return errEnough
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil
	}
	if depth == cacheDepth {
		return w.hidden()
	}
	return w.enter(dir, name, depth)
}

// hidden is what a directory counts that cannot be looked into. No tool makes one,
// and it shall not be a place where a cache is as large as it likes.
func (w *cacheWalk) hidden() error {
	w.bytes = max(w.bytes, w.req.Enough+1)
	return errEnough
}

func (w *cacheWalk) enter(dir *os.File, name string, depth int) error {
	sub, err := w.open(dir, name)
	if err != nil {
		return err
	}
	defer sub.Close()
	return w.walk(sub, depth+1)
}

// remove removes an entry with all that lies below it. A directory that is too
// deep goes up to the top and is done there, where nobody else makes names now.
func (w *cacheWalk) remove(dir *os.File, name string, depth int) error {
	at := int(dir.Fd())
	err := unix.Unlinkat(at, name, 0)
	if !errors.Is(err, unix.EISDIR) {
		return err
	}
	if depth == cacheDepth {
		return unix.Renameat(at, name, int(w.dir.Fd()), rand.Text()) // no name of a jail's
	}
	if err := w.enter(dir, name, depth); err != nil {
		return err
	}
	return unix.Unlinkat(at, name, unix.AT_REMOVEDIR)
}

// open opens a directory. One that is to be emptied is in nobody's hands any more
// and is opened to its owner first; others stay as they are, since a jail could put
// a link into the place of what is being changed.
func (w *cacheWalk) open(dir *os.File, name string) (*os.File, error) {
	at := int(dir.Fd())
	if w.req.Empty && unix.Faccessat(at, name, unix.R_OK|unix.W_OK|unix.X_OK, 0) != nil {
		if err := unix.Fchmodat(at, name, 0o700, 0); err != nil {
			return nil, err
		}
	}
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.EACCES) && !w.req.Empty:
		return nil, w.hidden()
	case errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP):
		return nil, unix.ENOENT // it was one a moment ago
	case err != nil:
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}
