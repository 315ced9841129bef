package cage

import (
	"os/exec"
	"testing"

	"github.com/omnijail/omnijail/internal/egressd/wire"
	"github.com/omnijail/omnijail/netns"
)

// BenchmarkColdStart is what the first jail of a uid pays: the cage, the process,
// its filter and its answer to Hello.
func BenchmarkColdStart(b *testing.B) {
	program := build(b, "")
	for b.Loop() {
		_, end := start(b, program, (*exec.Cmd).Start)
		d := newDaemon(b, end)
		d.hello(wire.Config{})
		d.conn.Close()
	}
}

// BenchmarkAttach is what every jail pays in a process that runs: rules, CA, table
// and servers.
func BenchmarkAttach(b *testing.B) {
	_, end := start(b, build(b, ""), (*exec.Cmd).Start)
	d := newDaemon(b, end)
	d.hello(wire.Config{})
	spec := d.sealed(wire.Spec{})
	for b.Loop() {
		b.StopTimer()
		ns, err := netns.New(netns.Steered)
		if err != nil {
			b.Fatal(err)
		}
		s := ns.Sockets()
		b.StartTimer()
		d.send(wire.Attach{Seq: 2, Jail: jailID, Spec: spec, TCP: s.TCP, UDP: s.UDP})
		d.answer()
		b.StopTimer()
		d.send(wire.Detach{Seq: 3, Jail: jailID})
		d.answer()
		ns.Close()
		b.StartTimer()
	}
}
