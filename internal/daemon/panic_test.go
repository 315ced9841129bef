package daemon

import (
	"io"
	"log/slog"
	"net"
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/peercred/peercredtest"
)

// A mistake of ours in the middle of a start takes the jail with it: one that
// nobody waits for would keep its place, its processes and its network.
func TestAPanicUndoesTheJail(t *testing.T) {
	m := &Manager{
		jails: map[jail.ID]*liveJail{}, perUID: map[uint32]int{}, metrics: newMetrics(),
		cfg: Config{Log: slog.New(slog.NewTextHandler(io.Discard, nil))}, // and nothing that a start needs
	}
	who := peercredtest.Self(t)
	plan := func() *Plan { return &Plan{Caller: who, Spec: &jail.Spec{Backends: []string{"none"}}} }
	for name, start := range map[string]func(){
		"a command": func() { m.Run(&Ticket{plan: plan()}, new(net.UnixConn)) },
		"a session": func() { m.Create(&Ticket{plan: plan()}, nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: there was no panic, so nothing is shown", name)
				}
			}()
			start()
		}()
		if len(m.jails) > 0 {
			t.Errorf("%s is still in the table", name)
		}
		clear(m.jails)
	}
}
