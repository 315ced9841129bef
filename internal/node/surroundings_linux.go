package node

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// surroundings asks about what the daemon was started in.
func surroundings() []Fact {
	return []Fact{nodeMounts(), coreLimit(), peerPidfd()}
}

// nodeMounts compares our mount namespace with process 1's. In one of its own the
// daemon sees another /tmp than its callers do, and they look confined to it.
func nodeMounts() Fact {
	const fix = "remove Private*= and Protect*= from the unit, or start omnijaild where process 1 is"
	self, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return unknown(NodeMounts, err, fix)
	}
	init, err := os.Readlink("/proc/1/ns/mnt")
	if err != nil {
		return unknown(NodeMounts, err, fix)
	}
	if self != init {
		return Fact{Name: NodeMounts, Answer: No, Detail: "omnijaild sees mounts of its own", Fix: fix}
	}
	return Fact{Name: NodeMounts, Answer: Yes, Detail: "the mounts of process 1"}
}

// coreLimit asks whether jails can get a limit of one byte for core files: at
// exactly that the kernel starts no core handler, which would run as root outside.
func coreLimit() Fact {
	const fix = "LimitCORE=1 in the unit, or ulimit -Hc 1 before the start"
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		return unknown(CoreLimit, err, fix)
	}
	if limit.Max >= 1 {
		return Fact{Name: CoreLimit, Answer: Yes, Detail: "can be set to 1"}
	}
	raise, err := hasCapability(unix.CAP_SYS_RESOURCE)
	if err != nil {
		return unknown(CoreLimit, err, fix)
	}
	if !raise {
		return Fact{Name: CoreLimit, Answer: No, Detail: "is 0 and cannot be raised to 1", Fix: fix}
	}
	return Fact{Name: CoreLimit, Answer: Yes, Detail: "can be raised to 1"}
}

func hasCapability(c uint) (bool, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(text)) {
		if set, ok := strings.CutPrefix(line, "CapEff:"); ok {
			bits, err := strconv.ParseUint(strings.TrimSpace(set), 16, 64)
			return bits&(1<<c) != 0, err
		}
	}
	return false, fmt.Errorf("no CapEff in /proc/self/status")
}

// peerPidfd asks a socket for the process at its other end.
func peerPidfd() Fact {
	const fix = "run Linux 6.5 or newer; until then a caller is known by number and start time"
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return unknown(PeerPidfd, err, fix)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	fd, err := unix.GetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	if err != nil {
		return Fact{Name: PeerPidfd, Answer: No, Detail: fmt.Sprintf("SO_PEERPIDFD: %v", err), Fix: fix}
	}
	unix.Close(fd)
	return Fact{Name: PeerPidfd, Answer: Yes, Detail: "SO_PEERPIDFD"}
}
