//go:build !linux

package api

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// checkServer accepts a socket in a private directory of the caller's own: on
// macOS the daemon is an agent of the user.
func checkServer(_ *net.UnixConn, path string) error {
	fi, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) != os.Getuid() || fi.Mode().Perm() != 0o700 {
		return errors.New("its directory is not yours alone (0700); nothing was sent")
	}
	return nil
}
