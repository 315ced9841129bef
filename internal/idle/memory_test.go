package idle

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestMemoryIsGivenBackAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var freed atomic.Int32
		m := after(func() { freed.Add(1) })
		for range 5 {
			time.Sleep(rest - time.Second)
			m.Busy()
		}
		if freed.Load() != 0 {
			t.Errorf("given back %d times by a process that is busy", freed.Load())
		}
		for range 2 {
			time.Sleep(10 * rest)
			m.Busy()
		}
		if freed.Load() != 2 {
			t.Errorf("given back %d times at two rests", freed.Load())
		}
		m.Close()
		time.Sleep(10 * rest)
		if freed.Load() != 2 {
			t.Error("given back after Close")
		}
	})
}
