package initrun

import (
	"math"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

const unlimited = math.MaxUint64

// limits are what every jail gets, whatever the daemon's own are: those of a
// login session. Core is exactly 1, because at 0 the kernel still starts a piped
// handler, as root and outside.
var limits = [...]child.Rlimit{
	{Resource: unix.RLIMIT_CPU, Soft: unlimited, Hard: unlimited},
	{Resource: unix.RLIMIT_FSIZE, Soft: unlimited, Hard: unlimited},
	{Resource: unix.RLIMIT_DATA, Soft: unlimited, Hard: unlimited},
	{Resource: unix.RLIMIT_STACK, Soft: 8 << 20, Hard: unlimited},
	{Resource: unix.RLIMIT_CORE, Soft: 1, Hard: 1},
	{Resource: unix.RLIMIT_RSS, Soft: unlimited, Hard: unlimited},
	{Resource: unix.RLIMIT_NPROC, Soft: unlimited, Hard: unlimited},
	{Resource: unix.RLIMIT_NOFILE, Soft: 1024, Hard: 524288},
	{Resource: unix.RLIMIT_MEMLOCK, Soft: 8 << 20, Hard: 8 << 20},
	{Resource: unix.RLIMIT_AS, Soft: unlimited, Hard: unlimited},
	{Resource: unix.RLIMIT_LOCKS, Soft: unlimited, Hard: unlimited},
	{Resource: unix.RLIMIT_SIGPENDING, Soft: 65536, Hard: 65536},
	{Resource: unix.RLIMIT_MSGQUEUE, Soft: 819200, Hard: 819200},
	{Resource: unix.RLIMIT_NICE, Soft: 0, Hard: 0},
	{Resource: unix.RLIMIT_RTPRIO, Soft: 0, Hard: 0},
	{Resource: unix.RLIMIT_RTTIME, Soft: unlimited, Hard: unlimited},
}

// setLimits applies those of list, each cut to the inherited hard limit, which nothing
// in here could raise.
func setLimits(list []child.Rlimit) *child.StartError {
	for _, want := range list {
		if err := setLimit(want); err != nil {
			return fail(child.StepReset, err, "resource limit")
		}
	}
	return nil
}

func setLimit(want child.Rlimit) error {
	var have unix.Rlimit
	if err := unix.Getrlimit(int(want.Resource), &have); err != nil {
		return err
	}
	hard := min(want.Hard, have.Max)
	next := unix.Rlimit{Cur: min(want.Soft, hard), Max: hard}
	if next == have {
		return nil
	}
	// Through the syscall package, which otherwise restores the open file limit
	// that it raised at start when it executes the command.
	return unix.Setrlimit(int(want.Resource), &next)
}
