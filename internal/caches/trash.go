package caches

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

const trashName = "trash"

// ErrInUse says that a jail has the tree.
var ErrInUse = errors.New("a jail uses it")

// Discard takes a tree away: from now on nobody gets it, and what is in it waits
// to be removed. It fails with ErrInUse or fs.ErrNotExist.
func (s *Store) Discard(uid uint32, id string) error {
	if !ValidID(id) {
		return fs.ErrNotExist
	}
	path := filepath.Join(s.of(uid), id)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return ErrInUse
	} else if err != nil {
		return err
	}
	trash := filepath.Join(s.of(uid), trashName)
	if err := os.MkdirAll(trash, 0o700); err != nil {
		return err
	}
	return os.Rename(path, filepath.Join(trash, rand.Text())) // there may be an earlier tree of its name
}

// Trash is a tree that is to be removed. Its owner closes it.
type Trash struct {
	UID  uint32
	GID  uint32
	Dirs []*os.File // to be emptied as UID
	path string
}

// Discarded returns the users whose discarded trees wait to be removed.
func (s *Store) Discarded() (uids []uint32, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		uid, err := strconv.ParseUint(e.Name(), 10, 32)
		if err == nil && s.Waiting(uint32(uid)) > 0 {
			uids = append(uids, uint32(uid))
		}
	}
	return uids, nil
}

// Waiting is how many discarded trees of uid's wait to be removed.
func (s *Store) Waiting(uid uint32) int {
	entries, err := os.ReadDir(filepath.Join(s.of(uid), trashName))
	if err != nil {
		return 0
	}
	return len(entries)
}

// Trash returns the discarded trees of uid's, and what is wrong with others.
func (s *Store) Trash(uid uint32) (out []*Trash, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	trash := filepath.Join(s.of(uid), trashName)
	entries, err := os.ReadDir(trash)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var wrong error
	for _, e := range entries {
		t := &Trash{UID: uid, path: filepath.Join(trash, e.Name())}
		if err := t.open(); err != nil {
			t.Close()
			wrong = errors.Join(wrong, err)
			continue
		}
		out = append(out, t)
	}
	return out, wrong
}

// open opens the directories of the user's. One that is root's still, since making
// the tree was cut short, is empty and needs nobody to empty it.
func (t *Trash) open() error {
	dirs, err := os.ReadDir(filepath.Join(t.path, "d"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, d := range dirs {
		f, err := os.OpenFile(filepath.Join(t.path, "d", d.Name()), unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		var st unix.Stat_t
		err = unix.Fstat(int(f.Fd()), &st)
		switch {
		case err == nil && st.Uid == t.UID:
			t.Dirs, t.GID = append(t.Dirs, f), st.Gid
			continue
		case err == nil && int(st.Uid) != os.Geteuid():
			err = fmt.Errorf("%s is not the directory of uid %d", f.Name(), t.UID)
		}
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// Remove removes a tree whose directories have been emptied. It goes no deeper
// than what root has made, so that it fails where something is left.
func (t *Trash) Remove() error {
	dirs, err := os.ReadDir(filepath.Join(t.path, "d"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, d := range dirs {
		if err := os.Remove(filepath.Join(t.path, "d", d.Name())); err != nil {
			return err
		}
	}
	for _, name := range []string{"d", "about.json.new", "about.json", "."} {
		if err := unlink(filepath.Join(t.path, name)); err != nil {
			return err
		}
	}
	return nil
}

func unlink(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Close closes the directories. It may be called again.
func (t *Trash) Close() {
	for _, f := range t.Dirs {
		f.Close()
	}
	t.Dirs = nil
}
