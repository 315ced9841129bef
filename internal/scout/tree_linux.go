package scout

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// tree is one that the jail may write.
type tree struct {
	path string
	id   inode
	pos  position
}

// tree describes what f stands for now, wherever it has been moved since.
func (ms mounts) tree(f *os.File) (tree, error) {
	_, id, err := stat(f)
	if err != nil {
		return tree{}, err
	}
	p, err := realPath(f)
	if err != nil {
		return tree{}, fmt.Errorf("a tree that the jail writes: %w", err)
	}
	pos, err := ms.position(f, p)
	return tree{p, id, pos}, err
}

// outside is nil when the file p, every link that leads to it and every directory
// above those lie outside of what the jail may write. Both ways of being inside
// count: by the directories above, and by the place in the file system, which
// another mount of it shows under another path.
func (s *sources) outside(p string) error {
	places, err := trail(p)
	if err != nil {
		return err
	}
	for _, place := range places {
		t, inside, err := s.mounts.inside(s.writable, place.path)
		if err != nil {
			return err
		}
		if inside {
			return refuse("source", "%s lies in %s, which the jail may write", place.path, t.path)
		}
	}
	return nil
}

// inside reports which of the trees p, a canonical path, lies in.
func (ms mounts) inside(trees []tree, p string) (tree, bool, error) {
	if len(trees) == 0 {
		return tree{}, false, nil
	}
	f, err := openHow(unix.AT_FDCWD, p, unix.O_PATH|unix.O_NOFOLLOW, unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return tree{}, false, err
	}
	defer f.Close()
	pos, err := ms.position(f, p)
	if err != nil {
		return tree{}, false, err
	}
	for _, t := range trees {
		if t.pos.contains(pos) {
			return t, true, nil
		}
	}
	for dir := p; ; dir = filepath.Dir(dir) {
		var st unix.Stat_t
		if err := unix.Lstat(dir, &st); err != nil {
			return tree{}, false, &os.PathError{Op: "stat", Path: dir, Err: err}
		}
		for _, t := range trees {
			if t.id == (inode{uint64(st.Dev), st.Ino}) {
				return t, true, nil
			}
		}
		if dir == "/" {
			return tree{}, false, nil
		}
	}
}

// outsideIfFile is outside for a word that may or may not name a file.
func (s *sources) outsideIfFile(word string) error {
	p := absolute(word, "")
	var st unix.Stat_t
	if err := unix.Stat(p, &st); err != nil {
		return nil
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		p += "/."
		return s.outsideDir(p)
	}
	return s.outside(p)
}

func (s *sources) outsideDir(p string) error {
	f, err := openHow(unix.AT_FDCWD, p, unix.O_PATH|unix.O_DIRECTORY, unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return err
	}
	defer f.Close()
	real, err := realPath(f)
	if err != nil {
		return err
	}
	t, inside, err := s.mounts.inside(s.writable, real)
	if err == nil && inside {
		err = refuse("source", "%s lies in %s, which the jail may write", real, t.path)
	}
	return errors.Join(err)
}
