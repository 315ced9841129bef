//go:build !linux

package peercred

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// ErrGone says that the peer has ended, so that nothing can be said about it.
var ErrGone = errors.New("the process that connected has ended")

var errNotHere = errors.New("peer credentials are not built for this system")

// Self is what the daemon compares a peer with.
type Self struct{}

// From fails: what it promises of a peer only Linux can tell.
func From(*net.UnixConn) (Caller, error) { return Caller{}, errNotHere }

// Myself fails, as From does.
func Myself() (Self, error) { return Self{}, errNotHere }

// Confined fails, as From does.
func Confined(Caller, Self) (reason string, err error) { return "", errNotHere }

// InCgroup fails, as From does.
func InCgroup(Caller, func(path string) bool) (bool, error) { return false, errNotHere }

// CheckServer accepts a socket in a directory that is the caller's alone: where
// the daemon is an agent of the user, nobody else can have put it there.
func CheckServer(_ *net.UnixConn, path string) error {
	fi, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) != os.Getuid() || fi.Mode().Perm() != 0o700 {
		return errors.New("its directory is not yours alone (0700)")
	}
	return nil
}
