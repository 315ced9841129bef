package peercred

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// CheckServer is what a client does before it sends the first byte to a daemon at
// the absolute path: the peer has to be root, and the socket and every directory
// above it root's, so that nobody else can have put it there.
func CheckServer(conn *net.UnixConn, path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("the socket %q is not an absolute path", path)
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	ctlErr := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err = errors.Join(ctlErr, err); err != nil {
		return fmt.Errorf("credential of the server at %s: %w", path, err)
	}
	if cred.Uid != 0 {
		return fmt.Errorf("what listens at %s is not omnijaild: it runs as uid %d, not as root", path, cred.Uid)
	}
	return checkOwner(path)
}

// checkOwner walks from the root down, through links, so that every directory
// that has a say in where path leads is looked at. Root owns all of them, hence
// nobody can change one between the look and the use.
func checkOwner(path string) error {
	at, rest := "/", strings.Split(path, "/")
	if err := checkDir(at); err != nil {
		return err
	}
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, part)
		fi, err := os.Lstat(next)
		if err != nil {
			return err
		}
		if fi.Sys().(*syscall.Stat_t).Uid != 0 {
			return fmt.Errorf("%s is not root's: another user could have put it there", next)
		}
		if fi.Mode()&os.ModeSymlink != 0 {
			if links++; links > 40 {
				return fmt.Errorf("too many links on the way to %s", path)
			}
			target, err := os.Readlink(next)
			if err != nil {
				return err
			}
			if filepath.IsAbs(target) {
				at = "/"
			}
			rest = append(strings.Split(target, "/"), rest...)
			continue
		}
		if err := checkStep(next, fi, len(rest) == 0); err != nil {
			return err
		}
		at = next
	}
	return nil
}

// checkStep looks at the socket itself, or at a directory above it.
func checkStep(name string, fi os.FileInfo, last bool) error {
	if !last {
		return checkDir(name)
	}
	if fi.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("%s is not a socket", name)
	}
	return nil
}

// checkDir lets a sticky directory such as /tmp pass: there nobody but root can
// rename what root owns.
func checkDir(name string) error {
	fi, err := os.Lstat(name)
	if err != nil {
		return err
	}
	switch {
	case !fi.IsDir():
		return fmt.Errorf("%s is not a directory", name)
	case fi.Sys().(*syscall.Stat_t).Uid != 0:
		return fmt.Errorf("%s is not root's", name)
	case fi.Mode().Perm()&0o022 != 0 && fi.Mode()&os.ModeSticky == 0:
		return fmt.Errorf("%s can be written by others than root", name)
	}
	return nil
}
