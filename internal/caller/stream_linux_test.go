package caller

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// streamPair is a client's connection: its end, and the daemon's, which does not
// block.
func streamPair(t testing.TB) (client, daemon *os.File) {
	t.Helper()
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(p[1], true); err != nil {
		t.Fatal(err)
	}
	client, daemon = os.NewFile(uintptr(p[0]), "client"), os.NewFile(uintptr(p[1]), "daemon")
	t.Cleanup(func() { client.Close(); daemon.Close() })
	return client, daemon
}
