package netns

import (
	"errors"
	"fmt"
	"os"
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
	for _, s := range sysctls {
		err := os.WriteFile("/proc/sys/"+s.name, []byte(s.value), 0)
		switch {
		case err == nil, s.optional && errors.Is(err, os.ErrNotExist):
		case way == ByPort && (errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist)):
		default:
			return fmt.Errorf("set sysctl: %w", err)
		}
	}
	return nil
}
