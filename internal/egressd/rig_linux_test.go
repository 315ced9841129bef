package egressd

import (
	"net"
	"os"
	"testing"

	"github.com/omnijail/omnijail/creds"
	"github.com/omnijail/omnijail/internal/audit"
	"github.com/omnijail/omnijail/internal/egress"
	"github.com/omnijail/omnijail/internal/egressd/wire"
)

const testJail = "j0123456789abcdef"

// rig runs serve in this process and plays the daemon.
type rig struct {
	t    *testing.T
	conn *wire.Conn
	end  chan error   // what serve returned
	more []wire.Event // came together with what receive has returned
}

func newRig(t *testing.T) *rig {
	t.Helper()
	d, e, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	daemon, err := wire.NewConn(d)
	if err != nil {
		t.Fatal(err)
	}
	process, err := wire.NewConn(e)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, conn: daemon, end: make(chan error, 1)}
	go func() { r.end <- serve(process) }()
	t.Cleanup(func() { daemon.Close() })
	return r
}

func (r *rig) send(m wire.Message) {
	r.t.Helper()
	if err := r.conn.SendMessage(m); err != nil {
		r.t.Fatal(err)
	}
}

// receive returns the next message.
func (r *rig) receive() wire.Message {
	r.t.Helper()
	if len(r.more) > 0 {
		e := r.more[0]
		r.more = r.more[1:]
		return e
	}
	f, err := r.conn.Receive()
	if err != nil {
		r.t.Fatal(err)
	}
	m, err := wire.DecodeUp(f)
	if err != nil {
		r.t.Fatal(err)
	}
	if events, ok := m.(wire.Events); ok {
		r.more = events[1:]
		return events[0]
	}
	return m
}

func (r *rig) ask(m wire.Message) wire.Answer {
	r.t.Helper()
	r.send(m)
	return r.receive().(wire.Answer)
}

func (r *rig) sealed(v any) *os.File {
	r.t.Helper()
	f, err := wire.Seal("document", v)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { f.Close() })
	return f
}

func (r *rig) hello() {
	r.t.Helper()
	if a := r.ask(wire.Hello{Seq: 1, Config: r.sealed(wire.Config{})}); a.Status != wire.OK {
		r.t.Fatalf("hello: %v", a.Status)
	}
}

// order is an Attach with sockets of this namespace.
func (r *rig) order(spec wire.Spec) wire.Attach {
	r.t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	defer l.Close()
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close()
	tcp, err := l.(*net.TCPListener).File()
	if err != nil {
		r.t.Fatal(err)
	}
	udp, err := c.(*net.UDPConn).File()
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { tcp.Close(); udp.Close() })
	return wire.Attach{Seq: 2, Jail: testJail, Spec: r.sealed(spec), TCP: []*os.File{tcp}, UDP: []*os.File{udp}}
}

// attach gives the jail and returns the answer.
func (r *rig) attach(spec wire.Spec) wire.Answer {
	r.t.Helper()
	a := r.ask(r.order(spec))
	if a.Status != wire.OK {
		r.t.Fatalf("attach: %v", a.Status)
	}
	return a
}

// bound is a Spec with one binding.
func bound(t *testing.T, tune func(*creds.Binding)) wire.Spec {
	t.Helper()
	rule, err := egress.ParseRule("GET api.example.com/**")
	if err != nil {
		t.Fatal(err)
	}
	a, err := egress.ParseAuthority("api.example.com", 443)
	if err != nil {
		t.Fatal(err)
	}
	b := creds.Binding{
		Name: "api", Type: creds.Bearer, Foreign: creds.ForeignDeny, Env: []creds.EnvVar{{Name: "TOKEN"}},
		Targets: []creds.Target{{Authority: a, Scheme: creds.SchemeBearer}},
		Sources: []creds.Source{{Kind: creds.SourceCommand, Argv: []string{"token"}}},
	}
	if tune != nil {
		tune(&b)
	}
	return wire.Spec{Rules: []egress.Rule{rule}, Bindings: []creds.Binding{b}, Keys: []string{"key"}}
}

// pipe returns a pipe's read end with content in it, its write end closed.
func pipe(t *testing.T, content string) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	go func() {
		w.WriteString(content) // fails when the reader takes less, which is a case here
		w.Close()
	}()
	return r
}

func request(path string) wire.Event {
	return wire.Event{Jail: testJail, Kind: audit.KindRequest, Decision: audit.Allow, Code: audit.CodeAllowed,
		Rule: -1, Nearest: -1, Binding: -1, Path: path}
}
