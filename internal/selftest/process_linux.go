package selftest

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// processAttempts act on process 1 of the jail, which is root's though without
// capabilities, and on a process of the caller's outside.
func processAttempts() (out []Attempt) {
	for _, target := range []struct {
		name, what, must string
		pid              func(*Site) int
	}{
		{"init", "process 1", "EPERM, EACCES or EINVAL", func(*Site) int { return 1 }},
		{"victim", "a process of the caller's outside", "ESRCH", func(s *Site) int { return s.Victim }},
	} {
		for _, t := range []struct {
			name, tries string
			try         func(pid int) error
		}{
			{"signal", "signal ", func(pid int) error { return unix.Kill(pid, 0) }},
			{"signal_thread", "signal a thread of ", func(pid int) error { return unix.Tgkill(pid, pid, 0) }},
			{"signal_queue", "queue a signal to ", queueSignal},
			{"pidfd_signal", "signal by descriptor ", func(pid int) error {
				fd, err := unix.PidfdOpen(pid, 0)
				if err != nil {
					return err
				}
				defer unix.Close(fd)
				return unix.PidfdSendSignal(fd, 0, nil, 0)
			}},
			{"prlimit", "change the limits of ", func(pid int) error {
				var l unix.Rlimit
				if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &l); err != nil {
					return err
				}
				return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &l, nil)
			}},
			{"priority", "change the priority of ", func(pid int) error { return unix.Setpriority(unix.PRIO_PROCESS, pid, 1) }},
			{"affinity", "bind to a processor ", func(pid int) error {
				var set unix.CPUSet
				set.Set(0)
				return unix.SchedSetaffinity(pid, &set)
			}},
			{"policy", "change the scheduling of ", func(pid int) error {
				priority := int32(0)
				return made(unix.SYS_SCHED_SETSCHEDULER, uintptr(pid), 0, uintptr(unsafe.Pointer(&priority)))
			}},
			{"ioprio", "change the disk priority of ", func(pid int) error { return made(unix.SYS_IOPRIO_SET, 1, uintptr(pid), 2<<13|7) }},
			{"cpu_clock", "read the processor time of ", func(pid int) error {
				var ts unix.Timespec
				return unix.ClockGettime(int32(^pid)<<3|2, &ts)
			}},
			{"robust_list", "read the lock list of ", func(pid int) error {
				var head, size uintptr
				return made(unix.SYS_GET_ROBUST_LIST, uintptr(pid), uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&size)))
			}},
		} {
			if target.name == "init" && t.name == "cpu_clock" {
				continue // nothing of anybody else's is in it
			}
			out = append(out, Attempt{
				Name: "process." + target.name + "_" + t.name, Tries: t.tries + target.what, Must: target.must, Guarantee: jail.NoPrivilege,
				probe: func(s *Site) Finding {
					pid := target.pid(s)
					if pid != 1 && pid < 64 && s.Via == "" {
						return notRun("its number may be one of the jail's own")
					}
					return fails(t.try(pid))
				},
			})
		}
	}
	return out
}

func queueSignal(pid int) error {
	var info [128]byte
	code := int32(-1) // SI_QUEUE
	*(*int32)(unsafe.Pointer(&info[8])) = code
	*(*int32)(unsafe.Pointer(&info[16])) = int32(os.Getpid())
	return made(unix.SYS_RT_SIGQUEUEINFO, uintptr(pid), 0, uintptr(unsafe.Pointer(&info)))
}
