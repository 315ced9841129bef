package scout

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

var errNotRegular = errors.New("not a regular file")

// readRegular reads a regular file of at most limit bytes.
func readRegular(p string, limit int64) ([]byte, error) {
	f, err := openPath(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readOpened(f, limit)
}

// readOpened reads what an O_PATH descriptor stands for. Only a regular file is
// opened for reading: opening a device or a FIFO has effects of its own.
func readOpened(f *os.File, limit int64) ([]byte, error) {
	st, _, err := stat(f)
	if err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, &os.PathError{Op: "read", Path: f.Name(), Err: errNotRegular}
	}
	r, err := os.Open(fdPath(f))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), errors.Unwrap(err))
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", f.Name(), limit)
	}
	return b, err
}
