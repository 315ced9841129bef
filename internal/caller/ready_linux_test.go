package caller

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
)

// A scout that waited becomes the caller as one that was just started does, and
// is nobody else's afterwards.
func TestS17_AScoutThatWaitedServesOnce(t *testing.T) {
	dir := playground(t)
	c := newChild(t)
	s, err := Start(c.Init, c.Group)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !s.Alive() {
		t.Fatal("a scout that nobody asked has ended")
	}
	o, err := Open(context.Background(), Options{Child: c, Scout: s, Request: request(dir)})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.p.cmd.Process.Pid))
	if want := fmt.Sprintf("\nUid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d\n", someone); err != nil || !strings.Contains(string(status), want) {
		t.Errorf("after its answer the scout is not the caller: %v\n%s", err, status)
	}
	if again, err := Open(context.Background(), Options{Child: c, Scout: s, Request: request(dir)}); err == nil {
		again.Close()
		t.Error("a scout served twice")
	}
	s.Close()
	if s.Alive() {
		t.Error("a closed scout lives")
	}
}
