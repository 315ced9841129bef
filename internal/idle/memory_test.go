package idle

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestMemoryIsGivenBackAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		freed := 0
		m := after(func() { freed++ })
		for range 5 {
			time.Sleep(rest - time.Second)
			m.Busy()
		}
		if freed != 0 {
			t.Errorf("given back %d times by a process that is busy", freed)
		}
		for range 2 {
			time.Sleep(10 * rest)
			m.Busy()
		}
		if freed != 2 {
			t.Errorf("given back %d times at two rests", freed)
		}
		m.Close()
		time.Sleep(10 * rest)
		if freed != 2 {
			t.Error("given back after Close")
		}
	})
}
