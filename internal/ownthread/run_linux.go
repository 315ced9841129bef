// Package ownthread runs what changes the namespaces of an OS thread where that
// concerns nobody else.
package ownthread

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Run runs f on an OS thread that ends with it, and returns its error.
func Run(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlock: the runtime ends such a thread
		if unix.Gettid() == unix.Getpid() {
			// The runtime cannot end the process's first thread; it would park it
			// in the foreign namespace for ever. While it is locked here, the next
			// goroutine cannot run on it.
			defer runtime.UnlockOSThread()
			done <- Run(f)
			return
		}
		done <- f()
	}()
	return <-done
}
