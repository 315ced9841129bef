package bwrap

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxBinary bounds a loaded program in bytes.
const maxBinary = 64 << 20

// Binary is a program in a sealed memory file. It is safe for concurrent use.
type Binary struct {
	file *os.File
}

// Load copies the program at path. The path must be absolute; the file and every
// directory above it must belong to root and be writable by nobody else, and no
// part of it may be a link.
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

// openOwned walks down from the root by descriptor, so that what was checked is
// what is opened.
func openOwned(path string) (*os.File, error) {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return nil, errors.New("not an absolute, clean path")
	}
	real, err := filepath.EvalSymlinks(path) // /bin is a link on most nodes
	if err != nil {
		return nil, err
	}
	dir, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	at := "/"
	for _, part := range splitPath(real) {
		if err := ownedByRoot(dir, at); err != nil {
			unix.Close(dir)
			return nil, err
		}
		next, err := unix.Openat(dir, part.name, part.flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		unix.Close(dir)
		at = filepath.Join(at, part.name)
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: at, Err: err}
		}
		dir = next
	}
	f := os.NewFile(uintptr(dir), at)
	if err := ownedByRoot(dir, at); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

type pathPart struct {
	name  string
	flags int
}

func splitPath(path string) (parts []pathPart) {
	flags := unix.O_RDONLY
	for path != "/" {
		parts = append([]pathPart{{filepath.Base(path), flags}}, parts...)
		path, flags = filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY
	}
	return parts
}

func ownedByRoot(fd int, name string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &os.PathError{Op: "stat", Path: name, Err: err}
	}
	sticky := st.Mode&unix.S_IFMT == unix.S_IFDIR && st.Mode&unix.S_ISVTX != 0 // like /tmp: nobody replaces root's files
	if st.Uid != 0 || st.Mode&0o022 != 0 && !sticky {
		return fmt.Errorf("%s must belong to root and be writable by root alone (chown root and chmod go-w it)", name)
	}
	return nil
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
	const all = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, all); err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	// A file that is open for writing anywhere cannot be executed.
	return os.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
}
