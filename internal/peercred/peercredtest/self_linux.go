// Package peercredtest has callers for tests.
package peercredtest

import (
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/peercred"
)

// Self is the test itself as a caller, by the kernel's word.
func Self(t testing.TB) peercred.Caller {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[1])
	end := os.NewFile(uintptr(pair[0]), "pair")
	defer end.Close()
	conn, err := net.FileConn(end)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c, err := peercred.From(conn.(*net.UnixConn))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
