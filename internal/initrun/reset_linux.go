package initrun

import (
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

const (
	// minOOMScore makes the kernel end a jail before the node's own services.
	minOOMScore = 200
	// timerSlack is the kernel's default in nanoseconds.
	timerSlack = 50_000
	// coreFilter is the kernel's default set of dumped mappings.
	coreFilter = "0x33"
)

// disinherit undoes what a child of a root service inherits. Priorities are the
// spawner's part: raising them back needs rights that a jail never has.
func disinherit() *child.StartError {
	bad := func(err error, what string) *child.StartError { return fail(child.StepReset, err, what) }

	if failed := setLimits(limits[:]); failed != nil {
		return failed
	}
	if err := raiseOOMScore(); err != nil {
		return bad(err, "oom_score_adj")
	}
	if err := put("/proc/self/coredump_filter", coreFilter); err != nil && err != unix.ENOENT {
		return bad(err, "coredump_filter")
	}
	if errno := prctl(unix.PR_SET_TIMERSLACK, timerSlack, 0, 0, 0); errno != 0 {
		return bad(errno, "timer slack")
	}
	if errno := prctl(unix.PR_SET_THP_DISABLE, 0, 0, 0, 0); errno != 0 && errno != unix.EINVAL {
		return bad(errno, "huge pages")
	}
	// Without a name: a new keyring that nobody else can join.
	if _, _, errno := unix.RawSyscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0); errno != 0 && errno != unix.ENOSYS {
		return bad(errno, "session keyring")
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_PERSONALITY, 0, 0, 0); errno != 0 {
		return bad(errno, "personality")
	}
	unix.Umask(0o022)
	return nil
}

// reset undoes the rest, and sets the limits that are a command's own.
func reset(l *child.Launch) *child.StartError {
	if failed := setLimits(l.Limits); failed != nil {
		return failed
	}
	// The audit subsystem then names the caller. A login id that is already set
	// cannot be changed from here: it names who started the daemon, which is true.
	err := put("/proc/self/loginuid", strconv.Itoa(int(l.UID)))
	if err != nil && err != unix.ENOENT && err != unix.EPERM {
		return fail(child.StepReset, err, "loginuid")
	}
	if err := resetScheduling(l.Processors); err != nil {
		return fail(child.StepReset, err, "sched_setaffinity")
	}
	return nil
}

func raiseOOMScore() error {
	const name = "/proc/self/oom_score_adj"
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var b [16]byte
	n, err := unix.Read(fd, b[:])
	if err != nil {
		return err
	}
	for n > 0 && b[n-1] == '\n' {
		n--
	}
	score, err := strconv.Atoi(string(b[:n]))
	if err != nil {
		return unix.EINVAL
	}
	if score >= minOOMScore {
		return nil
	}
	return put(name, strconv.Itoa(minOOMScore))
}

// put writes one value into a file of /proc.
func put(name, value string) error {
	fd, err := unix.Open(name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(value))
	return err
}

// resetScheduling lets the command use every processor of its cpuset, or starts it
// on those that are named. A name that is none by now leaves it all of them.
func resetScheduling(named []uint32) error {
	var all, few [128]byte // 1024 processors
	for i := range all {
		all[i] = 0xff
	}
	if errno := setAffinity(&all); errno != 0 {
		return errno
	}
	for _, p := range named {
		few[p/8] |= 1 << (p % 8)
	}
	if len(named) == 0 {
		return nil
	}
	if errno := setAffinity(&few); errno != 0 && errno != unix.EINVAL {
		return errno
	}
	return nil
}

func setAffinity(mask *[128]byte) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_SCHED_SETAFFINITY, 0, uintptr(len(mask)), uintptr(unsafe.Pointer(mask)))
	return errno
}
