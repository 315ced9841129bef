package egressd

import (
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/egressd/wire"
)

func TestAttachIsAnsweredWithWhatIsWrong(t *testing.T) {
	good := func(t *testing.T, r *rig) wire.Attach { return r.order(bound(t, nil)) }
	table := []struct {
		name  string
		order func(*testing.T, *rig) wire.Attach
		want  wire.Status
	}{
		{"good", good, wire.OK},
		{"spec not sealed", func(t *testing.T, r *rig) wire.Attach {
			m := good(t, r)
			m.Spec = memfd(t, "{}", 0)
			return m
		}, wire.BadConfig},
		{"spec is no document", func(t *testing.T, r *rig) wire.Attach {
			m := good(t, r)
			m.Spec = memfd(t, "[", allSeals)
			return m
		}, wire.BadConfig},
		{"rule", func(t *testing.T, r *rig) wire.Attach {
			return r.order(wire.Spec{Rules: []egress.Rule{{Host: "*"}}})
		}, wire.BadRules},
		{"binding", func(t *testing.T, r *rig) wire.Attach {
			return r.order(bound(t, func(b *creds.Binding) { b.Type = "magic" }))
		}, wire.BadBindings},
		{"listener is a pipe", func(t *testing.T, r *rig) wire.Attach {
			m := good(t, r)
			m.TCP[0] = pipe(t, "")
			return m
		}, wire.BadSocket},
		{"udp is tcp", func(t *testing.T, r *rig) wire.Attach {
			m := good(t, r)
			m.UDP = m.TCP
			return m
		}, wire.BadSocket},
	}
	for _, c := range table {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			m := c.order(t, r)
			if a := r.ask(m); a.Status != wire.NotReady {
				t.Errorf("before hello: %v", a.Status)
			}
			r.hello()
			a := r.ask(m)
			if a.Status != c.want || a.Seq != m.Seq {
				t.Errorf("got %v, want %v", a.Status, c.want)
			}
			if placed := a.Env["TOKEN"] != "" && len(a.CADER) > 0; placed != (c.want == wire.OK) {
				t.Errorf("answer %+v", a)
			}
			if c.want == wire.OK {
				if a := r.ask(m); a.Status != wire.DoubleJail {
					t.Errorf("a second time: %v", a.Status)
				}
			}
		})
	}
}

func TestA79_JailsOfOneProcessShareNothing(t *testing.T) {
	r := newRig(t)
	r.hello()
	one := r.attach(bound(t, nil))
	m := r.order(bound(t, nil))
	m.Jail = "jfedcba9876543210"
	two := r.ask(m)
	if one.Env["TOKEN"] == two.Env["TOKEN"] || string(one.CADER) == string(two.CADER) {
		t.Errorf("%v and %v", one, two)
	}
}

// TestS12_ProcessEndsWithItsDaemon: no auditor, no process.
func TestS12_ProcessEndsWithItsDaemon(t *testing.T) {
	r := newRig(t)
	r.hello()
	m := r.order(bound(t, nil))
	addr := localAddr(t, m.TCP[0])
	if a := r.ask(m); a.Status != wire.OK {
		t.Fatal(a.Status)
	}
	m.TCP[0].Close()
	r.conn.Close()
	if err := <-r.end; err != nil {
		t.Errorf("serve: %v", err)
	}
	refused(t, addr)
}

func localAddr(t *testing.T, f *os.File) string {
	t.Helper()
	l, err := net.FileListener(f)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func refused(t *testing.T, addr string) {
	t.Helper()
	if c, err := net.Dial("tcp", addr); err == nil {
		c.Close()
		t.Errorf("%s still answers", addr)
	}
}

func TestFreezeAndDetachCutTheNetwork(t *testing.T) {
	for name, order := range map[string]wire.Message{"freeze": wire.Freeze{Seq: 9, Jail: testJail}, "detach": wire.Detach{Seq: 9, Jail: testJail}} {
		r := newRig(t)
		r.hello()
		m := r.order(bound(t, nil))
		addr := localAddr(t, m.TCP[0])
		r.ask(m)
		m.TCP[0].Close()
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		if a := r.ask(order); a.Status != wire.OK || a.Seq != 9 {
			t.Errorf("%s: %+v", name, a)
		}
		refused(t, addr)
		again := wire.UnknownJail
		if name == "freeze" {
			again = wire.OK // it is still there
		}
		if a := r.ask(wire.Detach{Seq: 10, Jail: testJail}); a.Status != again {
			t.Errorf("detach after %s: %v", name, a.Status)
		}
	}
}

// TestDeadListenerCutsTheWholeJail breaks one socket from outside.
func TestDeadListenerCutsTheWholeJail(t *testing.T) {
	r := newRig(t)
	r.hello()
	m := r.order(bound(t, nil))
	if a := r.ask(m); a.Status != wire.OK {
		t.Fatal(a.Status)
	}
	raw, err := m.TCP[0].SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) { err = unix.Shutdown(int(fd), unix.SHUT_RDWR) })
	if err != nil {
		t.Fatal(err)
	}
	if got := r.receive(); got != (wire.Gone{Jail: testJail}) {
		t.Errorf("got %#v", got)
	}
	if a := r.ask(wire.Detach{Seq: 4, Jail: testJail}); a.Status != wire.OK {
		t.Errorf("detach: %v", a.Status)
	}
}

func TestUnknownMessageEndsTheProcess(t *testing.T) {
	for name, f := range map[string]wire.Frame{
		"kind":         {Kind: 999},
		"its own kind": {Kind: wire.KindGone, Body: []byte(testJail)},
		"short":        {Kind: wire.KindDetach, Body: []byte("j")},
	} {
		r := newRig(t)
		if err := r.conn.Send(f); err != nil {
			t.Fatal(err)
		}
		if err := <-r.end; !errors.Is(err, wire.ErrProtocol) {
			t.Errorf("%s: serve ended with %v", name, err)
		}
	}
}

func TestS13_RunRefusesOutsideTheCage(t *testing.T) {
	_, e, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := Run(e); err == nil || !strings.Contains(err.Error(), "omnijaild") {
		t.Errorf("got %v", err)
	}
}
