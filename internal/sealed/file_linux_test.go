package sealed

import (
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestASealedFileStaysWhatItIs(t *testing.T) {
	f, err := File("x", []byte("value"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for what, change := range map[string]error{
		"write": func() error { _, err := f.WriteAt([]byte("V"), 0); return err }(),
		"grow":  f.Truncate(10), "shrink": f.Truncate(1),
		"unseal": func() error { _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, 0); return err }(),
	} {
		if change == nil {
			t.Errorf("%s: it could", what)
		}
	}
	if got, err := io.ReadAll(f); err != nil || string(got) != "value" {
		t.Errorf("it holds %q, %v", got, err)
	}
}

// TestWhatIsHeldIsSealedLater has a page held by a pipe, as the kernel holds one for
// purposes of its own, until the seal is being asked for.
func TestWhatIsHeldIsSealedLater(t *testing.T) {
	fd, err := unix.MemfdCreate("x", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "x")
	defer f.Close()
	if _, err := f.WriteAt(make([]byte, 4096), 0); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	var from int64
	if n, err := unix.Splice(fd, &from, int(w.Fd()), nil, 4096, 0); err != nil || n != 4096 {
		t.Fatal(n, err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, Seals); err != unix.EBUSY {
		t.Fatalf("a held page: %v, want EBUSY", err)
	}
	done := make(chan error, 1)
	go func() { done <- Seal(fd) }()
	if _, err := io.ReadFull(r, make([]byte, 4096)); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
