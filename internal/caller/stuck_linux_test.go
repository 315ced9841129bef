package caller

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/cgroup/cgrouptest"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/lab"
)

func TestS17_AHangingFileSystemCostsItsOwnerOnly(t *testing.T) {
	dir := playground(t)
	asked, release := lab.HangingFS(t, mkdir(t, dir, "hang"), someone)
	r := request(dir)
	r.View.Grants = append(r.View.Grants, jail.Grant{Path: dir + "/hang/x"})
	ctx, cancel := context.WithCancelCause(context.Background())
	deadline := errors.New("the deadline")
	c := newChild(t)
	done := make(chan error)
	go func() {
		_, err := Open(ctx, Options{Child: c, Request: r})
		done <- err
	}()
	<-asked
	other := request(playground(t))
	mustOpen(t, other) // while the first one hangs
	cancel(deadline)
	if err := <-done; !errors.Is(err, deadline) {
		t.Errorf("got %v, want the deadline", err)
	}
	if n := stuck(someone); n != 1 {
		t.Errorf("%d abandoned scouts, want 1", n)
	}
	release()
	for stuck(someone) != 0 { // bounded by the test's own timeout
		runtime.Gosched()
	}
}

func stuck(uid uint32) int {
	abandoned.mu.Lock()
	defer abandoned.mu.Unlock()
	return abandoned.count[uid]
}

// A command that leaves a process behind in a session of its own leaves none.
func TestS17_ADaemonisingCommandLeavesNoProcess(t *testing.T) {
	group := cgrouptest.New(t)
	dir := playground(t)
	valueR, valueW := pipe(t)
	_, errW := pipe(t)
	c := newChild(t)
	c.Group = group
	reply, err := ResolveSource(t.Context(), SourceOptions{
		Child: c, User: user(dir), Value: valueW, Stderr: errW,
		Request: jail.SourceRequest{
			Home: dir + "/home", Env: somePath,
			Sources: []creds.Source{command("sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo value")},
		},
	})
	valueW.Close()
	if got := slurp(t, valueR); err != nil || !reply.OK || got != "value\n" {
		t.Fatalf("got %q, %+v, %v", got, reply, err)
	}
	if err := group.WaitEmpty(t.Context()); err != nil {
		t.Fatal(err)
	}
}
