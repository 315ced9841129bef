package scout

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// inode is the identity of a file on this node, whatever it is called.
type inode struct{ dev, ino uint64 }

// openPath opens a path of the caller's as O_PATH. Links are followed, the magic
// ones of /proc are not.
func openPath(p string) (*os.File, error) {
	return openHow(unix.AT_FDCWD, p, unix.O_PATH, unix.RESOLVE_NO_MAGICLINKS)
}

// openDirect opens a path of the caller's as O_PATH, with no link on the way.
func openDirect(p string) (*os.File, error) {
	return openHow(unix.AT_FDCWD, p, unix.O_PATH, unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
}

// openBelow opens a name below dir as O_PATH: no link is followed, no mount is
// crossed, and nothing outside is reached.
func openBelow(dir *os.File, name string) (*os.File, error) {
	return openHow(int(dir.Fd()), name, unix.O_PATH, beneath)
}

// beneath is how a name below a directory is found: through no link and no mount.
const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// openHow is openat2. The kernel answers EAGAIN when a rename ran through the
// lookup; a caller that keeps renaming gets that error in the end.
func openHow(dir int, p string, flags, resolve uint64) (*os.File, error) {
	fd, err := openRaw(dir, p, flags, resolve)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), p), nil
}

// openRaw is openHow for a descriptor that is closed at once.
func openRaw(dir int, p string, flags, resolve uint64) (int, error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: resolve}
	for try := 0; ; try++ {
		fd, err := unix.Openat2(dir, p, &how)
		if err == nil {
			return fd, nil
		}
		if err != unix.EINTR && err != unix.EAGAIN || try == 64 {
			return -1, &os.PathError{Op: "open", Path: p, Err: err}
		}
	}
}

func stat(f *os.File) (unix.Stat_t, inode, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return st, inode{}, &os.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return st, inode{uint64(st.Dev), st.Ino}, nil
}

func isDir(st unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFDIR }

// realPath returns the canonical path of f. The kernel's name for f is believed
// only if it leads to the same inode without a link: a deleted or unreachable
// file has no path.
func realPath(f *os.File) (string, error) {
	p, err := os.Readlink(fdPath(f))
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(p) || filepath.Clean(p) != p {
		return "", fmt.Errorf("%q has no path here", p)
	}
	g, err := openHow(unix.AT_FDCWD, p, unix.O_PATH, unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
	if err != nil {
		return "", err
	}
	defer g.Close()
	_, want, err := stat(f)
	if err != nil {
		return "", err
	}
	if _, got, err := stat(g); err != nil || got != want {
		return "", errors.Join(fmt.Errorf("%s changed while it was opened", p), err)
	}
	return p, nil
}

// below returns the name of p relative to the directory root, "" when p is root
// itself; ok is false when p lies elsewhere. Both are canonical.
func below(root, p string) (name string, ok bool) {
	if p == root {
		return "", true
	}
	return strings.CutPrefix(p, strings.TrimSuffix(root, "/")+"/")
}

func fdPath(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }
