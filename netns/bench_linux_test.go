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
