package cage

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// Params are what an egress process is started from. All are lent.
type Params struct {
	Init   *os.File // omnijail-init, opened for reading
	Exe    *os.File // the daemon's own executable, a static program
	Socket *os.File // the egress process's end of wire.Pair
	UID    uint32   // of the egress user, never 0
	GID    uint32   // of its own group
}

// Where the child finds the files: the order of ExtraFiles.
const (
	firstExtra = 3
	initFD     = firstExtra + 2
)

// Command returns the command that becomes the egress process, not yet started.
// It has an empty environment and /dev/null as stdin, stdout and stderr: what the
// process has to say it says over its socket. After Start the caller closes its
// copy of Socket, so that the process sees the end of the daemon and the daemon
// the end of the process.
//
// The child is not tied to the starting thread: it ends when the socket does.
func Command(p Params) *exec.Cmd {
	cmd := &exec.Cmd{
		Path:       fmt.Sprintf("/proc/self/fd/%d", initFD),
		Args:       []string{"omnijail-init", "confine", strconv.FormatUint(uint64(p.UID), 10), strconv.FormatUint(uint64(p.GID), 10)},
		Env:        []string{},
		Dir:        "/",
		ExtraFiles: []*os.File{p.Socket, p.Exe, p.Init},
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
			Setsid:     true,
		},
	}
	return cmd
}
