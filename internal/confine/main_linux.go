package confine

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// The descriptors that the daemon gives.
const (
	socketFD = 3
	exeFD    = 4
)

const exitFailed = 125

// Main is the verb confine; args are the numeric uid and gid of the egress
// process. It returns only when the cage could not be closed.
func Main(args []string) int {
	runtime.LockOSThread() // credentials are a thread's; the exec ends all others
	err := run(args)
	fmt.Fprintln(os.Stderr, "omnijail-init: confine:", err)
	return exitFailed
}

func run(args []string) error {
	id, err := parseIdentity(args)
	if err != nil {
		return err
	}
	if os.Getpid() != 1 {
		return errors.New("not in a process namespace of its own: it is started by omnijaild, not by hand")
	}
	steps := []struct {
		name string
		do   func() error
	}{
		{"private root", privateRoot},
		{"limits", limits},
		{"identity", id.assume},
		{"check identity", id.verify},
		{"no_new_privs", func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
		{"landlock", restrict},
		{"descriptors", keepSocketOnly},
		{"execute the egress process", execute},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	panic("omnijail: internal error: the egress process was executed and confine went on")
}

func parseIdentity(args []string) (identity, error) {
	if len(args) != 2 {
		return identity{}, errors.New("usage: confine UID GID")
	}
	var n [2]uint32
	for i, a := range args {
		v, err := strconv.ParseUint(a, 10, 32)
		if err != nil || v == 0 || v == 1<<32-1 {
			return identity{}, fmt.Errorf("%.20q is not the id of an egress user", a)
		}
		n[i] = uint32(v)
	}
	return identity{uid: n[0], gid: n[1]}, nil
}

// limits are those that need privilege to set. A limit of 1 on cores, not 0,
// keeps a core handler behind a pipe away too.
func limits() error {
	unlimited := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unlimited) // without it secrets may reach the swap; doctor says so
	return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1})
}

// keepSocketOnly marks every descriptor but 0, 1, 2 and the socket to be closed by
// the exec, whatever the daemon left open.
func keepSocketOnly() error {
	if _, err := unix.FcntlInt(socketFD, unix.F_SETFD, 0); err != nil {
		return err
	}
	return unix.CloseRange(exeFD, 1<<32-1, unix.CLOSE_RANGE_CLOEXEC)
}
