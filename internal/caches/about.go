package caches

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// About is what root wrote down about a tree. The texts were a user's words.
type About struct {
	ID        string        `json:"-"`
	Owner     uint32        `json:"owner"`
	UID       uint32        `json:"uid"`
	GID       uint32        `json:"gid"`
	Policy    string        `json:"policy"` // name, for people
	Workspace string        `json:"workspace"`
	Used      time.Time     `json:"used"` // when a command last began or ended
	Size      int64         `json:"size"` // bytes, when it was last measured
	Measured  time.Time     `json:"measured"`
	Took      time.Duration `json:"took"` // measuring it
	Free      int64         `json:"free"` // Level of the file system then
	// Unknown says that the last walk did not come to its end: Size and Free are of
	// an earlier one.
	Unknown bool `json:"unknown,omitempty"`
}

// All returns what is known of every tree. One that says nothing of itself is not
// in it.
func (s *Store) All() (out []About, err error) {
	uids, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	for _, u := range uids {
		uid, err := strconv.ParseUint(u.Name(), 10, 32)
		if err != nil {
			continue
		}
		of, err := s.Of(uint32(uid))
		if err != nil {
			return nil, err
		}
		out = append(out, of...)
	}
	return out, nil
}

// Of returns what is known of the trees of jails that run as uid.
func (s *Store) Of(uid uint32) (out []About, err error) {
	entries, err := os.ReadDir(s.of(uid))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if !ValidID(e.Name()) {
			continue
		}
		if a, err := s.read(filepath.Join(s.of(uid), e.Name())); err == nil {
			out = append(out, a)
		}
	}
	return out, nil
}

func (s *Store) read(path string) (a About, err error) {
	b, err := os.ReadFile(filepath.Join(path, "about.json"))
	if err == nil {
		err = json.Unmarshal(b, &a)
	}
	a.ID = filepath.Base(path)
	return a, err
}

// change rewrites what is known of a tree.
func (s *Store) change(path string, f func(*About)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := s.read(path)
	if err != nil {
		return err
	}
	f(&a)
	return write(path, a)
}

func write(path string, a About) error {
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	name := filepath.Join(path, "about.json")
	if err := os.WriteFile(name+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// InUse reports whether a jail has the tree just now.
func (s *Store) InUse(uid uint32, id string) bool {
	f, err := os.Open(filepath.Join(s.of(uid), id))
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}
