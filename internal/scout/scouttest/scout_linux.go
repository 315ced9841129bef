// Package scouttest lets a test's binary be the scouts that the test starts.
package scouttest

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/scout"
)

// Main is the TestMain of such a test: as omnijail-init, the binary is started by
// its file descriptor with an empty environment.
func Main(m *testing.M) {
	if len(os.Args) == 2 && os.Args[0] == "omnijail-init" && os.Args[1] == "open" {
		os.Exit(scout.Main(nil))
	}
	unix.Umask(0o022)
	os.Exit(m.Run())
}

// Init is the binary, open until the test ends.
func Init(t testing.TB) *os.File {
	t.Helper()
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// Group leaves a scout in the test's own cgroup.
type Group struct{}

// Start starts the scout.
func (Group) Start(cmd *exec.Cmd) error { return cmd.Start() }

// Kill kills nothing.
func (Group) Kill() error { return nil }
