package daemon

import (
	"io"
	"log/slog"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/peercred"
)

// A mistake of ours in the middle of a start takes the jail with it: one that
// nobody waits for would keep its place, its processes and its network.
func TestAPanicUndoesTheJail(t *testing.T) {
	m := &Manager{
		jails: map[jail.ID]*liveJail{}, perUID: map[uint32]int{}, metrics: newMetrics(),
		cfg: Config{Log: slog.New(slog.NewTextHandler(io.Discard, nil))}, // and nothing that a start needs
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[1])
	f := os.NewFile(uintptr(pair[0]), "client")
	conn, err := net.FileConn(f)
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	who, err := peercred.From(conn.(*net.UnixConn))
	if err != nil {
		t.Fatal(err)
	}
	defer who.Close()
	plan := func() *Plan { return &Plan{Caller: who, Spec: &jail.Spec{Backends: []string{"none"}}} }
	for name, start := range map[string]func(){
		"a command": func() { m.Run(&Ticket{plan: plan()}, conn.(*net.UnixConn)) },
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
