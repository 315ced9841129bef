package config

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// RootOwned refuses a path if it, or a folder above it, belongs to somebody else
// than root or may be written by others: whoever can change it commands root.
// A sticky folder of root's, such as /tmp, protects what root made in it.
func RootOwned(path string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return err
	}
	for p := real; ; p = filepath.Dir(p) {
		var st unix.Stat_t
		if err := unix.Lstat(p, &st); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		if st.Uid != 0 {
			return fmt.Errorf("%s belongs to uid %d, not to root: chown root %s", p, st.Uid, p)
		}
		if st.Mode&0o022 != 0 && !(p != real && st.Mode&unix.S_ISVTX != 0) {
			return fmt.Errorf("%s may be written by others than root: chmod go-w %s", p, p)
		}
		if p == "/" {
			return nil
		}
	}
}
