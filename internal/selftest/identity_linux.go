package selftest

import (
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// identityAttempts try to be somebody else, or to have a right again.
func identityAttempts() (out []Attempt) {
	add := func(name, tries, must string, probe func() error) *Attempt {
		out = append(out, Attempt{Name: "identity." + name, Tries: tries, Must: must, Guarantee: jail.NoPrivilege, probe: func(*Site) Finding { return fails(probe()) }})
		return &out[len(out)-1]
	}
	raw := func(nr uintptr, list ...uintptr) func() error { return func() error { return made(nr, list...) } }
	groups := []uint32{0, 4, 27}
	add("setuid", "become root", "EPERM", raw(unix.SYS_SETUID, 0))
	add("setresuid", "become root by all three ids", "EPERM", raw(unix.SYS_SETRESUID, 0, 0, 0))
	add("setreuid", "become root by two ids", "EPERM", raw(unix.SYS_SETREUID, noFD, 0))
	add("setgid", "become group 0", "EPERM", raw(unix.SYS_SETGID, 0))
	add("setresgid", "become group 0 by all three ids", "EPERM", raw(unix.SYS_SETRESGID, 0, 0, 0))
	add("setgroups", "join groups", "EPERM", raw(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&groups[0]))))
	add("setfsuid", "be root for files alone", "it stays", func() error {
		unix.Syscall(unix.SYS_SETFSUID, 0, 0, 0)
		if now, _, _ := unix.Syscall(unix.SYS_SETFSUID, noFD, 0, 0); now != 0 {
			return unix.EPERM
		}
		return nil
	})
	add("capset", "raise every capability", "EPERM", raiseCapabilities)
	add("capabilities", "find a capability in any set", "all five sets are empty", func() error {
		status, err := os.ReadFile("/proc/thread-self/status")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(status)) {
			if strings.HasPrefix(line, "Cap") && strings.Trim(line[7:], "\t 0\n") != "" {
				return nil
			}
		}
		return unix.EPERM
	})
	add("ambient", "raise an ambient capability", "EPERM", func() error {
		return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, unix.CAP_NET_BIND_SERVICE, 0, 0)
	}).NoControl = "it has to be inheritable first"
	add("keepcaps", "keep capabilities over a change of uid", "EPERM", func() error { return unix.Prctl(unix.PR_SET_KEEPCAPS, 1, 0, 0, 0) })
	add("securebits", "clear the secure bits", "EPERM", func() error { return unix.Prctl(unix.PR_SET_SECUREBITS, 0, 0, 0, 0) })
	add("no_new_privs", "run without no_new_privs", "it is set and stays set", func() error {
		unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0)
		v, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
		if err == nil && v == 1 {
			return unix.EPERM
		}
		return err
	})
	add("seccomp", "run without a filter", "a filter is in force", func() error {
		if v, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0); err != nil || v != 0 {
			return unix.EPERM
		}
		return nil
	})
	add("suid_programs", "run a setuid program of the node's", "the file systems are nosuid", func() error {
		var st unix.Statfs_t
		if err := unix.Statfs("/usr/bin", &st); err != nil || st.Flags&unix.ST_NOSUID != 0 {
			return unix.EPERM
		}
		return nil
	})
	add("bounding", "drop from the bounding set", "EPERM", func() error { return unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_SYS_TIME, 0, 0, 0) })
	add("nice", "have a higher priority", "EACCES", func() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, -5) })
	add("realtime", "be scheduled before everything else", "EPERM", func() error {
		priority := int32(1)
		return made(unix.SYS_SCHED_SETSCHEDULER, 0, 1, uintptr(unsafe.Pointer(&priority)))
	})
	add("io_realtime", "have the disk first", "EPERM", raw(unix.SYS_IOPRIO_SET, 1, 0, 1<<13))
	add("open_files", "raise the limit of open files", "EPERM", func() error {
		return setLimitAbove(unix.RLIMIT_NOFILE)
	}).NoControl = resourceful
	add("memlock", "raise the limit of locked memory", "EPERM", func() error {
		return setLimitAbove(unix.RLIMIT_MEMLOCK)
	}).NoControl = resourceful
	return out
}

func raiseCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have, want [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil {
		return err
	}
	for i := range want {
		want[i] = unix.CapUserData{Effective: have[i].Permitted, Permitted: have[i].Permitted, Inheritable: have[i].Inheritable}
	}
	want[0].Permitted |= 1 << unix.CAP_NET_RAW
	want[0].Effective |= 1 << unix.CAP_NET_RAW
	return unix.Capset(&header, &want[0])
}

func setLimitAbove(resource int) error {
	var l unix.Rlimit
	if err := unix.Getrlimit(resource, &l); err != nil {
		return err
	}
	l.Max++
	return unix.Prlimit(0, resource, &l, nil)
}
