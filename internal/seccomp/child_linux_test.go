package seccomp

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The tests in real_*_test.go run parts of this binary again as children,
// because a filter cannot be taken off.
const childVariable = "SECCOMP_TEST_CHILD"

var children = map[string]func() error{
	"jail":   jailChild,
	"bare":   bareChild,
	"egress": egressChild,
}

func TestMain(m *testing.M) {
	child, ok := children[os.Getenv(childVariable)]
	if !ok {
		os.Exit(m.Run())
	}
	runtime.LockOSThread()
	if err := child(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// runChild returns what the child printed, one line each.
func runChild(t *testing.T, name string) []string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Dir = t.TempDir()
	cmd.Env = []string{childVariable + "=" + name}
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("child %s: %v\n%s%s", name, err, out, errors.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func noNewPrivs() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }

func TestInstallSaysThatNoNewPrivsIsMissing(t *testing.T) {
	f, err := Jail()
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		// Root may install without; the child shows the ordinary case.
		cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65533, Gid: 65533}}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	if err := f.Install(); err == nil || !strings.Contains(err.Error(), "no_new_privs") {
		t.Fatalf("install without no_new_privs: %v", err)
	}
}
