package netns

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/ownthread"
)

// A probe runs in a child of the test inside a namespace, without privilege, as
// a jailed program would. What it returns is compared by the test.
var probes = map[string]func(args []string) string{
	"dial":     probeDial,
	"serve":    probeServe,
	"squat":    probeSquat,
	"datagram": probeDatagram,
	"socket":   probeSocket,
	"ask":      probeAsk,
	"listen":   probeListen,
}

const probeVar = "OMNIJAIL_PROBE"

const nobody = 65534

func TestMain(m *testing.M) {
	if name := os.Getenv(probeVar); name != "" {
		fmt.Println(probes[name](os.Args[1:]))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// inside runs a probe in n's namespace and returns what it printed.
func inside(t *testing.T, n *Net, probe string, args ...string) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", args...)
	// The race detector would wait a second before each exit.
	cmd.Env = []string{probeVar + "=" + probe, "GORACE=atexit_sleep_ms=0"}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var out []byte
	err := ownthread.Run(func() (err error) {
		if err = unix.Setns(int(n.FD().Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		out, err = cmd.Output()
		return err
	})
	if err != nil {
		t.Fatalf("probe %s %v: %v", probe, args, err)
	}
	return strings.TrimSpace(string(out))
}

// newNet makes a namespace that ends with the test.
func newNet(t testing.TB) *Net { return newNetBy(t, Steered) }

func newNetBy(t testing.TB, way Interception) *Net {
	t.Helper()
	n, err := New(way)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return n
}

// bothWays runs a test in a namespace of each interception. That of ByPort has
// listeners at some ports.
func bothWays(t *testing.T, test func(t *testing.T, n *Net)) {
	t.Helper()
	for _, way := range []Interception{Steered, ByPort} {
		t.Run(way.String(), func(t *testing.T) {
			n := newNetBy(t, way)
			open(t, n, Opening{Ports: []uint16{22, 53, 443}})
			test(t, n)
		})
	}
}

func open(t testing.TB, n *Net, o Opening) {
	t.Helper()
	if err := n.Open(o); err != nil {
		t.Fatal(err)
	}
}
