package pty

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// maxTerminals bounds the terminals of one instance; the node's own pool is shared.
const maxTerminals = 256

// Devpts is a devpts instance that is mounted nowhere yet.
type Devpts struct {
	mount *os.File
}

// NewDevpts makes an instance. It needs CAP_SYS_ADMIN.
func NewDevpts() (*Devpts, error) {
	fs, err := unix.Fsopen("devpts", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("new devpts: %w", err)
	}
	defer unix.Close(fs)
	options := [][2]string{{"mode", "0620"}, {"ptmxmode", "0666"}, {"gid", "5"}, {"max", fmt.Sprint(maxTerminals)}}
	for _, o := range options {
		if err := unix.FsconfigSetString(fs, o[0], o[1]); err != nil {
			return nil, fmt.Errorf("devpts option %s=%s: %w", o[0], o[1], err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return nil, fmt.Errorf("new devpts: %w", err)
	}
	mnt, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return nil, fmt.Errorf("mount devpts: %w", err)
	}
	return &Devpts{mount: os.NewFile(uintptr(mnt), "devpts")}, nil
}

// Mount returns the detached mount, to be attached at /dev/pts. It stays the
// instance's; Close closes it.
func (d *Devpts) Mount() *os.File { return d.mount }

// Terminal makes a terminal whose slave end belongs to uid. The caller owns both
// ends; the master is in non-blocking mode.
func (d *Devpts) Terminal(uid uint32) (master, slave *os.File, err error) {
	const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	m, err := unix.Openat(int(d.mount.Fd()), "ptmx", flags|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open ptmx: %w", err)
	}
	master = os.NewFile(uintptr(m), "ptmx")
	if err := unix.IoctlSetPointerInt(m, unix.TIOCSPTLCK, 0); err != nil {
		master.Close()
		return nil, nil, fmt.Errorf("unlock terminal: %w", err)
	}
	// By descriptor, never by name: a name would be looked up in whatever is
	// mounted at /dev/pts of this process.
	s, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(m), unix.TIOCGPTPEER, flags)
	if errno != 0 {
		master.Close()
		return nil, nil, fmt.Errorf("open terminal: %w", errno)
	}
	slave = os.NewFile(s, "tty")
	if err := unix.Fchown(int(s), int(uid), -1); err != nil {
		master.Close()
		slave.Close()
		return nil, nil, fmt.Errorf("give terminal to uid %d: %w", uid, err)
	}
	return master, slave, nil
}

// Close drops the instance unless it is mounted by then.
func (d *Devpts) Close() error { return d.mount.Close() }

// Resize sets the size of the terminal whose master this is, in characters.
// The jail's foreground process group gets SIGWINCH.
func Resize(master *os.File, rows, cols uint16) error {
	conn, err := master.SyscallConn() // Fd would put the master into blocking mode
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
	})
	return errors.Join(err, failed)
}
