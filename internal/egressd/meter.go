package egressd

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/fair"
)

// queryWork is what a DNS query takes, as mitm's work is told.
const queryWork = 40 * time.Microsecond

// newMeter divides half of the processors among jails, while more than one has work:
// the other half is for what comes next, and for those who ask.
func newMeter() *fair.Meter {
	return fair.New(float64(runtime.GOMAXPROCS(0)), processorTime)
}

// processorTime is what this process has used. Where the kernel does not say, nothing.
func processorTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
