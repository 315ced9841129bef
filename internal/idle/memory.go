// Package idle gives memory back to the node when a process has come to rest.
//
// What the collector frees stays the process's own for as long as it may need it
// again, which for a daemon with a thousand idle jails is as much as they hold.
package idle

import (
	"runtime/debug"
	"time"
)

// rest is how long nothing must have happened: a process that serves one command
// after the other keeps its memory.
const rest = 10 * time.Second

// Memory is that of this process. The caller says when something happens. The
// methods of a nil Memory do nothing.
type Memory struct{ timer *time.Timer }

// New returns a Memory whose first rest begins now.
func New() *Memory { return after(debug.FreeOSMemory) }

func after(free func()) *Memory { return &Memory{time.AfterFunc(rest, free)} }

// Busy says that the process has just done something that it may forget about.
func (m *Memory) Busy() {
	if m != nil {
		m.timer.Reset(rest)
	}
}

// Close ends it. It may be called again.
func (m *Memory) Close() {
	if m != nil {
		m.timer.Stop()
	}
}
