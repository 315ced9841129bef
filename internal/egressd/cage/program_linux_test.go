package cage

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/omnijail/omnijail/internal/egressd/wire"
)

// The egress user of these tests: an id without an entry.
const testUID, testGID = 64790, 64791

// build compiles testdata/program, which must be static as the daemon is: there
// is no loader in the cage.
func build(t testing.TB, mode string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", "build", "-ldflags", "-X main.mode="+mode, "-o", out, "./testdata/program")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, msg)
	}
	return out
}

// start has run start program in the cage, and returns it with the daemon's end.
func start(t testing.TB, program string, run func(*exec.Cmd) error) (*exec.Cmd, *os.File) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("these tests make namespaces and need root")
	}
	exe, err := os.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close()
	daemon, egress, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer egress.Close()
	cmd := Command(Params{Init: exe, Exe: exe, Socket: egress, UID: testUID, GID: testGID})
	if err := run(cmd); err != nil {
		daemon.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		daemon.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd, daemon
}
