package caches

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Store is the directory of all trees.
type Store struct {
	dir string
	mu  sync.Mutex // over every about.json, and over trees that are half made
}

// Open makes dir where it is missing and returns its Store. The directory above it
// must be root's alone.
func Open(dir string) (*Store, error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return nil, err
	}
	return &Store{dir: dir}, os.Chmod(dir, 0o700)
}

func (s *Store) of(uid uint32) string {
	return filepath.Join(s.dir, strconv.FormatUint(uint64(uid), 10))
}

// leastFile is what a file takes of the file system's room at least, in bytes: one
// that is empty takes an inode, of which there may be fewer than blocks.
const leastFile = 4096

// Free is how many bytes a user could still write to the file system of the trees,
// in files of any size.
func (s *Store) Free() (int64, error) {
	blocks, inodes, err := s.left()
	if inodes < 0 {
		return blocks, err
	}
	return min(blocks, inodes), err
}

// Level falls by all that is written to the file system of the trees, in bytes:
// what a file holds, and leastFile for each.
func (s *Store) Level() (int64, error) {
	blocks, inodes, err := s.left()
	return blocks + max(inodes, 0), err
}

// left is what the file system has left of both in bytes; inodes are below 0 where
// it makes them as they are needed.
func (s *Store) left() (blocks, inodes int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(s.dir, &st); err != nil {
		return 0, 0, fmt.Errorf("free space of %s: %w", s.dir, err)
	}
	blocks, inodes = int64(st.Bavail)*int64(st.Bsize), -1
	if st.Files > 0 {
		inodes = int64(min(st.Ffree, math.MaxInt64/4/leastFile)) * leastFile
	}
	return blocks, inodes, nil
}

// Tree is a tree in use. Its owner closes it.
type Tree struct {
	ID   string
	Dirs []*os.File // in the order of Dirs; the descriptors of directories
	path string
	lock *os.File
	s    *Store
}

// attempts bounds how often a tree is taken away in the moment it was found.
const attempts = 100

// Acquire returns the tree of k, made where there is none. policy is the name of
// its policy, for people. While the Tree is open the tree is not taken away.
func (s *Store) Acquire(k Key, policy string) (*Tree, error) {
	path := filepath.Join(s.of(k.UID), k.ID())
	for range attempts {
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			if err := s.create(path, k, policy); err != nil {
				return nil, fmt.Errorf("make cache %s: %w", k.ID(), err)
			}
		}
		t := &Tree{ID: k.ID(), path: path, s: s}
		if ok, err := t.hold(); err != nil {
			return nil, fmt.Errorf("cache %s: %w", k.ID(), err)
		} else if !ok {
			continue
		}
		if err := errors.Join(t.open(), t.touch()); err != nil {
			t.Close()
			return nil, fmt.Errorf("cache %s: %w", k.ID(), err)
		}
		return t, nil
	}
	return nil, fmt.Errorf("cache %s was taken away time and again", k.ID())
}

// create makes a tree beside the others and puts it into its place whole.
func (s *Store) create(path string, k Key, policy string) error {
	free, err := s.Level()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	trash := filepath.Join(s.of(k.UID), trashName) // where it stays if this is cut short
	if err := os.MkdirAll(trash, 0o700); err != nil {
		return err
	}
	made, err := os.MkdirTemp(trash, "")
	if err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(made, "d"), 0o700); err != nil {
		return err
	}
	for _, name := range Dirs {
		dir := filepath.Join(made, "d", fileName(name))
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Lchown(dir, int(k.UID), int(k.GID))); err != nil {
			return err
		}
	}
	about := About{Owner: k.Owner, UID: k.UID, GID: k.GID, Policy: policy, Workspace: k.Workspace, Used: time.Now(), Measured: time.Now(), Free: free}
	if err := write(made, about); err != nil {
		return err
	}
	if err := os.Rename(made, path); err != nil {
		if _, there := os.Lstat(path); there == nil {
			return nil // somebody was faster; this one is removed with the trash
		}
		return err
	}
	return nil
}

// hold locks the tree and reports whether it is still in its place.
func (t *Tree) hold() (bool, error) {
	f, err := os.Open(t.path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH)
	if err == nil {
		var held, there os.FileInfo
		if held, err = f.Stat(); err == nil {
			there, err = os.Lstat(t.path)
		}
		if err == nil && os.SameFile(held, there) {
			t.lock = f
			return true, nil
		}
	}
	f.Close()
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return false, err
}

// open opens the user's directories. Their names lie in a directory of root's, so
// that they are what was made there.
func (t *Tree) open() error {
	for _, name := range Dirs {
		f, err := os.OpenFile(filepath.Join(t.path, "d", fileName(name)), unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		t.Dirs = append(t.Dirs, f)
	}
	return nil
}

// usedGrain is how exactly it is known when a cache was used: writing it down takes
// longer than all else that a jail wants of its cache.
const usedGrain = time.Minute

// touch says that the tree was used now.
func (t *Tree) touch() error {
	if a, err := t.About(); err != nil || time.Since(a.Used) < usedGrain {
		return err
	}
	return t.change(func(a *About) { a.Used = time.Now() })
}

// About returns what is known of the tree, fs.ErrNotExist when it was taken away.
func (t *Tree) About() (About, error) {
	if err := t.there(); err != nil {
		return About{}, err
	}
	return t.s.read(t.path)
}

// change changes what is known of the tree, unless it was taken away.
func (t *Tree) change(f func(*About)) error {
	if err := t.there(); err != nil {
		return err
	}
	return t.s.change(t.path, f)
}

// there fails with fs.ErrNotExist when the tree was taken away.
func (t *Tree) there() error {
	held, err := t.lock.Stat()
	if err != nil {
		return err
	}
	there, err := os.Lstat(t.path)
	if err == nil && !os.SameFile(held, there) {
		err = os.ErrNotExist
	}
	return err
}

// Measured records the size of the tree in bytes, and how long it took to find.
func (t *Tree) Measured(size int64, took time.Duration) error {
	free, err := t.s.Level()
	if err != nil {
		return err
	}
	return t.change(func(a *About) {
		a.Size, a.Took, a.Free, a.Measured, a.Unknown = size, took, free, time.Now(), false
	})
}

// Unmeasured records that the size of the tree was not found in this time. What the
// file system had left when it last was stays known.
func (t *Tree) Unmeasured(took time.Duration) error {
	return t.change(func(a *About) { a.Took, a.Measured, a.Unknown = took, time.Now(), true })
}

// Release gives the tree back: from now on it may be taken away. It stays open.
func (t *Tree) Release() error {
	return errors.Join(t.touch(), unix.Flock(int(t.lock.Fd()), unix.LOCK_UN))
}

// Close gives the tree back and closes it.
func (t *Tree) Close() error {
	for _, f := range t.Dirs {
		f.Close()
	}
	return t.lock.Close()
}
