package netns

import (
	"runtime"
	"testing"
)

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		n, err := New(Steered)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		n.Close()
		b.StartTimer()
	}
}

// BenchmarkTake measures what a start pays when a namespace is ready.
func BenchmarkTake(b *testing.B) {
	p := NewPool(2, Steered)
	defer p.Close()
	for b.Loop() {
		b.StopTimer()
		for len(p.ready) == 0 {
			runtime.Gosched()
		}
		b.StartTimer()
		n, err := p.Take()
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		n.Close()
		b.StartTimer()
	}
}

// BenchmarkOpenPorts is what a start pays where each port needs a listener: those of
// a policy that names https alone.
func BenchmarkOpenPorts(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		n := newNetBy(b, ByPort)
		b.StartTimer()
		open(b, n, Opening{Ports: []uint16{22, 53, 443}, Proxy: true})
		b.StopTimer()
		n.Close()
		b.StartTimer()
	}
}
