package api

import (
	"fmt"
	"net"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// checkServer accepts a connection only to root, through a socket that nobody
// but root could have put there. It proves the server before the client sends
// anything: a socket planted in a workspace would collect secrets.
func checkServer(c *net.UnixConn, path string) error {
	rc, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	cerr := rc.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if cerr != nil {
		return cerr
	}
	if err != nil {
		return err
	}
	if cred.Uid != 0 {
		return fmt.Errorf("it belongs to uid %d, not to root; nothing was sent", cred.Uid)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	for p := real; ; p = filepath.Dir(p) {
		if err := rootOwned(p, p == real); err != nil {
			return err
		}
		if p == "/" {
			return nil
		}
	}
}

// rootOwned refuses what somebody else could replace. The socket itself may be
// group-writable, that is how a group is let in; a sticky directory of root's,
// such as /tmp, protects what root makes in it.
func rootOwned(path string, socket bool) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if st.Uid != 0 {
		return fmt.Errorf("%s belongs to uid %d, not to root; nothing was sent", path, st.Uid)
	}
	sticky := st.Mode&unix.S_ISVTX != 0
	if !socket && st.Mode&0o022 != 0 && !sticky {
		return fmt.Errorf("%s may be written by others than root; nothing was sent", path)
	}
	return nil
}
