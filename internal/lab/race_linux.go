package lab

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Race exchanges each name with the name and "~" until stop is called, at moments
// that nobody can foresee: a command in another jail of the same workspace could.
// stop returns the first exchange that failed.
func Race(names ...string) (stop func() error) {
	ending := make(chan struct{})
	var failed error
	var racer sync.WaitGroup
	racer.Go(func() {
		for {
			for _, name := range names {
				if err := unix.Renameat2(unix.AT_FDCWD, name, unix.AT_FDCWD, name+"~", unix.RENAME_EXCHANGE); err != nil {
					failed = fmt.Errorf("exchange %s: %w", name, err)
					return
				}
			}
			select {
			case <-ending:
				return
			case <-time.After(rand.N(3 * time.Millisecond)):
			}
		}
	})
	return func() error { close(ending); racer.Wait(); return failed }
}
