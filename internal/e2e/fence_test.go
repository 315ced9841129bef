package e2e

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/cgroup"
)

// The kernel's fence stands around the egress processes that a daemon starts: root
// itself, in one's cgroup, connects to none of the node's own servers but what the
// operator has pinned, also when the daemon is gone.
func TestS13_EgressProcessesAreFencedIn(t *testing.T) {
	n := NewNode(t, Options{})
	n.sleeper(t)
	pids := egressOf(t, n)
	if len(pids) == 0 {
		t.Fatal("no egress process")
	}
	h, err := cgroup.Find()
	if err != nil {
		t.Fatal(err)
	}
	path, err := h.Of(pids[0])
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	own, pinned := l.Addr().(*net.TCPAddr).Port, n.Lab.HTTPS().Port()
	try := func(when string) {
		t.Helper()
		for _, tt := range []struct {
			move string
			port int
			want string
		}{
			{"true", own, "connected"},
			{"echo $$ > " + h.Mount() + path + "/cgroup.procs", own, "Operation not permitted"},
			{"echo $$ > " + h.Mount() + path + "/cgroup.procs", int(pinned), "connected"},
		} {
			out, _ := exec.CommandContext(context.Background(), "bash", "-c",
				fmt.Sprintf("%s && exec bash -c 'exec 3<>/dev/tcp/127.0.0.1/%d && echo connected'", tt.move, tt.port)).CombinedOutput()
			if !strings.Contains(string(out), tt.want) {
				t.Errorf("%s, port %d after %q: %s, want %q", when, tt.port, tt.move, out, tt.want)
			}
		}
	}
	try("with its daemon")
	n.Kill(t)
	try("without its daemon")
}
