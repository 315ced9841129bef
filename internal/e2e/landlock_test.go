package e2e

import (
	"strings"
	"testing"
)

// alone is the backend that needs no bwrap, in its name's place in a policy.
const alone = "linux_landlock"

func TestS05_LandlockJail(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{})
	o := n.Exec(t, "--backend", alone, "--", "cat", "/proc/self/status").Want(t, 0)
	t.Log(o.Stdout, o.Stderr)
	if !strings.Contains(o.Stderr, alone) {
		t.Errorf("exec does not say which backend ran: %s", o.Stderr)
	}
}
