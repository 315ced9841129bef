package spawn

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// LaunchFile returns l in a sealed memory file, to be donated to the jail.
func LaunchFile(l *child.Launch) (*os.File, error) {
	b, err := child.EncodeLaunch(l)
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("launch", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("launch record: %w", err)
	}
	f := os.NewFile(uintptr(fd), "launch")
	if _, err := f.Write(b); err != nil {
		f.Close()
		return nil, fmt.Errorf("launch record: %w", err)
	}
	const all = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, all); err != nil {
		f.Close()
		return nil, fmt.Errorf("seal launch record: %w", err)
	}
	return f, nil
}
