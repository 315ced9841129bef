package mountwatch

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrEnded says that there was no table to open, because its process has ended.
var ErrEnded = errors.New("its process has ended")

// openTable opens the mount table of the process that pidfd names. The table is
// of the namespace: it outlives the process, and keeps the namespace as long.
func openTable(pidfd *os.File) (fd int, err error) {
	conn, err := pidfd.SyscallConn()
	if err != nil {
		return -1, err
	}
	failed := conn.Control(func(p uintptr) { fd, err = openOf(int(p)) })
	if failed != nil {
		return -1, failed
	}
	return fd, err
}

func openOf(pidfd int) (int, error) {
	pid, err := pidOf(pidfd)
	if err != nil {
		return -1, err
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/mountinfo", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	for _, ending := range []error{unix.ENOENT, unix.ESRCH, unix.EINVAL} {
		if err == ending {
			err = ErrEnded
		}
	}
	if err != nil {
		return -1, fmt.Errorf("open mount table of process %d: %w", pid, err)
	}
	// If the process still is, its number was its own when the table was opened.
	ended := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	if n, err := unix.Poll(ended, 0); err != nil || n != 0 {
		unix.Close(fd)
		return -1, fmt.Errorf("mount table of process %d: %w", pid, ErrEnded)
	}
	return fd, nil
}

func pidOf(pidfd int) (int, error) {
	info, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", pidfd))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(info)) {
		if v, ok := strings.CutPrefix(line, "Pid:"); ok {
			if pid, err := strconv.Atoi(strings.TrimSpace(v)); err == nil && pid > 0 {
				return pid, nil
			}
		}
	}
	return 0, fmt.Errorf("mount table by pidfd %d: %w", pidfd, ErrEnded)
}

// maxTable bounds a table in bytes: 8192 names of 4 KiB would be over it, and
// nobody has them.
const maxTable = 16 << 20

func readTable(fd int) ([]byte, error) {
	if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
		return nil, fmt.Errorf("read mount table: %w", err)
	}
	b := make([]byte, 0, 32<<10)
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := unix.Read(fd, b[len(b):cap(b)])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, fmt.Errorf("read mount table: %w", err)
		case n == 0:
			return b, nil
		default:
			b = b[:len(b)+n]
		}
		if len(b) > maxTable {
			return nil, errTable
		}
	}
}
