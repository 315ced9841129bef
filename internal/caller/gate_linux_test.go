package caller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/lab"
	"github.com/omnijail/omnijail/netns"
)

// A gate that is told once that there is no socket asks again: its port does not
// stay shut because descriptors were short for a moment.
func TestS21_AGateAsksAgainForSockets(t *testing.T) {
	inside, err := netns.New(netns.Steered)
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := uint16(probe.Addr().(*net.TCPAddr).Port)
	probe.Close()
	l, err := inside.Listen(port)
	if err != nil {
		t.Fatal(err)
	}
	server, err := net.FileListener(l)
	l.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go lab.Answer(server, func(c net.Conn) { io.WriteString(c, "in the jail") })
	asked := 0 // by one goroutine at a time: first ours, then the one that supplies
	socket := func() (*os.File, error) {
		if asked++; asked > child.GateStock && asked <= 2*child.GateStock {
			return nil, errors.New("no descriptors")
		}
		return inside.Socket()
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := StartGate(ctx, GateOptions{Child: newChild(t), User: jail.User{UID: 1000, GID: 1000}, Publish: []uint16{port}, Socket: socket}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 * child.GateStock {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(c); string(got) != "in the jail" || err != nil {
			t.Errorf("connection %d: %q, %v", i, got, err)
		}
		c.Close()
	}
}
