package wire

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/sealed"
)

// MaxDocument is the largest Config or Spec, in bytes of JSON.
const MaxDocument = 8 << 20

// Seal writes v as JSON into a memfd that nobody can change any more.
func Seal(name string, v any) (*os.File, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("seal %s: %w", name, err)
	}
	f, err := sealed.File(name, b)
	if err != nil {
		return nil, fmt.Errorf("seal %s: %w", name, err)
	}
	return f, nil
}

// Unseal reads what Seal wrote into v. A descriptor that is not a sealed memfd is
// refused: its content could change while it is read.
func Unseal(f *os.File, v any) error {
	if !Sealed(f) {
		return fmt.Errorf("%w: document is not in a sealed memfd", ErrProtocol)
	}
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("document: %w", err)
	}
	if st.Size() > MaxDocument {
		return fmt.Errorf("%w: document of %d bytes, more than %d", ErrProtocol, st.Size(), MaxDocument)
	}
	d := json.NewDecoder(io.NewSectionReader(f, 0, st.Size()))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%w: document: %w", ErrProtocol, err)
	}
	return nil
}

// Sealed reports whether f is a memfd whose bytes and size can no longer change.
func Sealed(f *os.File) bool {
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	ok := false
	cerr := raw.Control(func(fd uintptr) {
		got, err := unix.FcntlInt(fd, unix.F_GET_SEALS, 0)
		ok = err == nil && got&sealed.Seals == sealed.Seals
	})
	return ok && cerr == nil
}
