package bwrap

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/sealed"
)

// maxBinary bounds a loaded program in bytes.
const maxBinary = 64 << 20

// Binary is a program in a sealed memory file. It is safe for concurrent use.
type Binary struct {
	file *os.File
}

// Load copies the program at path. The path must be absolute; the file and every
// directory and link on the way must belong to root and be writable by nobody
// else.
func Load(path string) (*Binary, error) {
	in, err := openOwned(path)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", path, err)
	}
	defer in.Close()
	f, err := seal(filepath.Base(path), in)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", path, err)
	}
	return &Binary{f}, nil
}

// File returns the program, open for reading. It stays the Binary's.
func (b *Binary) File() *os.File { return b.file }

// Close releases the program.
func (b *Binary) Close() error { return b.file.Close() }

// maxLinks is the kernel's own bound.
const maxLinks = 40

// openOwned opens the file at path. It walks down from the root by descriptor, so
// that what was checked is what is opened, and follows links itself: whoever can
// plant a link chooses which of root's programs is run.
func openOwned(path string) (*os.File, error) {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return nil, errors.New("not an absolute, clean path")
	}
	for range maxLinks {
		f, next, err := walk(path)
		if err != nil || f != nil {
			return f, err
		}
		path = next
	}
	return nil, &os.PathError{Op: "open", Path: path, Err: unix.ELOOP}
}

// walk follows path to its file, or to the first link on it, and then returns
// the path to go on with.
func walk(path string) (f *os.File, next string, err error) {
	at := "/"
	dir, err := unix.Open(at, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, "", err
	}
	parts := strings.Split(path[1:], "/")
	for i, part := range parts {
		here := filepath.Join(at, part)
		entry, err := unix.Openat(dir, part, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		unix.Close(dir)
		if err != nil {
			return nil, "", &os.PathError{Op: "open", Path: here, Err: err}
		}
		kind, err := ownedByRoot(entry, here)
		if err == nil && kind == unix.S_IFLNK {
			next, err = target(entry, at, parts[i+1:])
			unix.Close(entry)
			return nil, next, err
		}
		if err != nil {
			unix.Close(entry)
			return nil, "", err
		}
		dir, at = entry, here
	}
	defer unix.Close(dir)
	f, err = os.Open(fmt.Sprintf("/proc/self/fd/%d", dir))
	return f, "", err
}

// target is the path that the link in directory dir leads to, with rest below it.
func target(link int, dir string, rest []string) (string, error) {
	var buf [unix.PathMax]byte
	n, err := unix.Readlinkat(link, "", buf[:])
	if err != nil {
		return "", err
	}
	to := string(buf[:n])
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	return filepath.Join(append([]string{to}, rest...)...), nil
}

// ownedByRoot returns the kind (S_IFMT) of what fd is open on, or refuses it.
func ownedByRoot(fd int, name string) (kind uint32, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, &os.PathError{Op: "stat", Path: name, Err: err}
	}
	kind = st.Mode & unix.S_IFMT
	sticky := kind == unix.S_IFDIR && st.Mode&unix.S_ISVTX != 0 // like /tmp: nobody replaces root's files
	open := st.Mode&0o022 != 0 && kind != unix.S_IFLNK && !sticky
	if st.Uid != 0 || open {
		return 0, fmt.Errorf("%s must belong to root and be writable by root alone (chown root and chmod go-w it)", name)
	}
	return kind, nil
}

// seal copies r into a memory file that nothing can change any more.
func seal(name string, r io.Reader) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if err == unix.EINVAL { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, fmt.Errorf("memory file (vm.memfd_noexec must not be 2): %w", err)
	}
	w := os.NewFile(uintptr(fd), name)
	defer w.Close()
	n, err := io.Copy(w, io.LimitReader(r, maxBinary+1))
	if err != nil {
		return nil, err
	}
	if n == 0 || n > maxBinary {
		return nil, fmt.Errorf("%d bytes is no size for a program", n)
	}
	if err := sealed.Seal(fd); err != nil {
		return nil, err
	}
	// A file that is open for writing anywhere cannot be executed.
	return os.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
}
