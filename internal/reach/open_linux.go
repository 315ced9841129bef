package reach

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrAutomount says that a path leads to what would have to be mounted first.
var ErrAutomount = errors.New("it is mounted when somebody looks for it")

// maxLinks is the kernel's own bound.
const maxLinks = 40

// Open opens the absolute path p as O_PATH, through links only if links is set and
// never through the magic ones of /proc. It fails with ErrAutomount, or as the
// kernel does.
func Open(p string, links bool) (*os.File, error) {
	fd, err := walk(p, links)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: p, Err: err}
	}
	return os.NewFile(uintptr(fd), p), nil
}

// Unmounted fails with ErrAutomount where p leads to what is not mounted by now, and
// in no other way: what else is wrong with a path is for who uses it to find.
func Unmounted(p string) error {
	f, err := Open(p, true)
	if errors.Is(err, ErrAutomount) {
		return err
	}
	if err == nil {
		f.Close()
	}
	return nil
}

const place = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC

func walk(p string, links bool) (int, error) {
	at, err := unix.Open("/", place, 0)
	if err != nil {
		return -1, err
	}
	todo := strings.Split(p, "/")
	for followed := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		if name == "" || name == "." {
			continue
		}
		next, err := enter(at, name)
		if err != nil {
			unix.Close(at)
			return -1, err
		}
		target, err := link(next)
		switch {
		case err == nil && target == "":
			unix.Close(at)
			at = next
			continue
		case err == nil && (!links || followed == maxLinks):
			err = unix.ELOOP
		}
		unix.Close(next)
		if err != nil {
			unix.Close(at)
			return -1, err
		}
		followed++
		todo = append(strings.Split(target, "/"), todo...)
		if strings.HasPrefix(target, "/") {
			unix.Close(at)
			if at, err = unix.Open("/", place, 0); err != nil {
				return -1, err
			}
		}
	}
	return at, nil
}

// enter opens a name in the directory at. The last name of a path that is opened as
// O_PATH is not mounted for it; a name that autofs has not made yet is.
func enter(at int, name string) (int, error) {
	auto, err := is(at, unix.AUTOFS_SUPER_MAGIC)
	if err != nil {
		return -1, err
	}
	if auto && name != ".." && !lists(at, name) {
		return -1, ErrAutomount
	}
	return unix.Openat(at, name, place, 0)
}

// link is where a link leads, empty where fd is none.
func link(fd int) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "", err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", nil
	}
	if magic, err := is(fd, unix.PROC_SUPER_MAGIC); err != nil || magic {
		return "", errors.Join(err, unix.ELOOP)
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", buf)
	if err == nil && n == 0 {
		err = unix.ENOENT
	}
	return string(buf[:max(n, 0)]), err
}

// is reports whether a file is on a file system of this kind.
func is(fd int, kind int64) (bool, error) {
	var st unix.Statfs_t
	err := unix.Fstatfs(fd, &st)
	return err == nil && int64(st.Type) == kind, err
}

// lists reports whether a directory of autofs has a name by now. Listing makes none.
func lists(at int, name string) bool {
	fd, err := unix.Openat(at, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	dir := os.NewFile(uintptr(fd), name)
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
}
