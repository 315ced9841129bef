package netns

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// sysctls of the new namespace. Each is per namespace; the thread that writes
// them decides which.
var sysctls = []struct {
	name, value string
	optional    bool // absent in kernels built without the feature
}{
	// The jail has no capability over the namespace, and it should bind 80.
	{name: "net/ipv4/ip_unprivileged_port_start", value: "0"},
	// Every address is local, so the kernel would answer for every address.
	{name: "net/ipv4/icmp_echo_ignore_all", value: "1"},
	{name: "net/ipv6/icmp/echo_ignore_all", value: "1", optional: true},
	// An MPTCP socket is a second way to make a connection; there is one here.
	{name: "net/mptcp/enabled", value: "0", optional: true},
	// A node may turn IPv6 off for devices to come; then ::1 would not work.
	{name: "net/ipv6/conf/all/disable_ipv6", value: "0", optional: true},
}

// writeSysctls sets them. A kernel that cannot steer may not be Linux, and has what
// it lets nobody set: gVisor's lets everybody bind any port and answers for its own
// addresses alone.
func writeSysctls(way Interception) error {
	proc, err := newProc()
	if err != nil && way == ByPort {
		proc, err = unix.Open("/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return fmt.Errorf("set sysctl: %w", err)
	}
	defer unix.Close(proc)
	for _, s := range sysctls {
		err := writeSysctl(proc, s.name, s.value)
		switch {
		case err == nil, s.optional && errors.Is(err, os.ErrNotExist):
		case way == ByPort && (errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist)):
		default:
			return fmt.Errorf("set sysctl: %w", err)
		}
	}
	return nil
}

// newProc returns a proc file system of its own, attached nowhere. In the node's
// the kernel keeps the entries of every namespace in one list, which each look-up
// walks: beside a thousand namespaces these few take a millisecond more to open.
func newProc() (mount int, err error) {
	fs, err := unix.Fsopen("proc", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("new proc: %w", err)
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, fmt.Errorf("new proc: %w", err)
	}
	if mount, err = unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC); err != nil {
		return -1, fmt.Errorf("mount proc: %w", err)
	}
	return mount, nil
}

func writeSysctl(proc int, name, value string) error {
	fd, err := unix.Openat(proc, "sys/"+name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, []byte(value)); err != nil {
		return &os.PathError{Op: "write", Path: name, Err: err}
	}
	return nil
}
