//go:build !linux

package peercred

import (
	"errors"
	"net"
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

// CheckServer fails, so that a client sends nothing.
func CheckServer(*net.UnixConn, string) error { return errNotHere }
