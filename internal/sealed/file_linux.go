package sealed

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Seals are those of a file whose bytes, size and seals stay what they are.
const Seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE

// File returns a sealed file of data, to be read from its start. It closes on exec.
func File(name string, data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("memory file: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err = f.WriteAt(data, 0); err == nil {
		err = Seal(fd)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("memory file: %w", err)
	}
	return f, nil
}

// busyTries is how often Seal asks: the kernel itself waits for some 75 ms each time.
const busyTries = 20

// Seal sets Seals on the memory file fd, which nobody has mapped for writing. The
// kernel refuses while something of its own has one of the pages in its hands, as what
// compacts memory and what samples its use have: then it is asked again.
func Seal(fd int) error {
	for try := 1; ; try++ {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, Seals)
		if err != unix.EBUSY || try == busyTries {
			return os.NewSyscallError("seal", err)
		}
	}
}
