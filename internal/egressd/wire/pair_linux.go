package wire

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Pair makes the socket pair: the daemon's end for NewConn, the egress process's
// end to be inherited.
func Pair() (daemon, egress *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("egress socket pair: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "egress:daemon"), os.NewFile(uintptr(fds[1]), "egress:process"), nil
}
