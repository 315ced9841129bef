package netns

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// onThread runs f on an OS thread that ends with it, so that whatever f does to
// the thread's namespaces concerns nobody else.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlock: the runtime ends such a thread
		if unix.Gettid() == unix.Getpid() {
			// The runtime cannot end the process's first thread; it would park it
			// in the foreign namespace for ever. While it is locked here, the next
			// goroutine cannot run on it.
			defer runtime.UnlockOSThread()
			done <- onThread(f)
			return
		}
		done <- f()
	}()
	return <-done
}
