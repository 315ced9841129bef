package cage

import (
	"net/netip"
	"testing"

	"github.com/omnijail/omnijail/internal/cgroup/cgrouptest"
	"github.com/omnijail/omnijail/internal/fence"
	"github.com/omnijail/omnijail/internal/guard"
)

// TestS13_TakenOverEgressIsFencedIn runs the attacker in a cgroup with the kernel's
// fence: what its own guard would have refused it cannot reach, by no call and for
// no filter, and what a jail of its own is pinned to it can.
func TestS13_TakenOverEgressIsFencedIn(t *testing.T) {
	own, err := guard.NodeAddrs()
	if err != nil {
		t.Fatal(err)
	}
	targets := outside(t)
	closed := []string{targets.TCP, "127.0.0.1:22", "[::1]:22", "169.254.169.254:80", "[fd00:ec2::254]:80", "10.0.0.1:443", "[::ffff:127.0.0.1]:22"}
	for _, a := range own {
		closed = append(closed, netip.AddrPortFrom(a, 22).String())
	}
	pinned := listen(t, "tcp", "127.0.0.1:0")
	targets.Fenced = append(closed, pinned)

	f, err := fence.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	group := cgrouptest.New(t)
	wall, err := f.Enclose(group.Dir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { wall.Close() })
	if err := wall.Admit("j", fence.Exceptions{Pins: []netip.AddrPort{netip.MustParseAddrPort(pinned)}}); err != nil {
		t.Fatal(err)
	}
	got := attack(t, targets, group.Start)
	for _, phase := range []string{"cage ", "filter "} {
		for _, to := range closed {
			for _, how := range []string{"tcp ", "udp ", "send "} {
				if what := got[phase+how+to]; what != "EPERM" {
					t.Errorf("%s%s%s: got %q, want the kernel's refusal", phase, how, to, what)
				}
			}
		}
		if what := got[phase+"tcp "+pinned]; what != "ok" {
			t.Errorf("%swhat a jail is pinned to: %q", phase, what)
		}
	}
}
