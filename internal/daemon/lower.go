package daemon

import (
	"fmt"
	"strconv"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
)

// rlimitNumbers are the resource limits that a Spec may set, by OCI name.
var rlimitNumbers = map[string]uint32{
	"RLIMIT_CORE": unix.RLIMIT_CORE, "RLIMIT_MEMLOCK": unix.RLIMIT_MEMLOCK, "RLIMIT_MSGQUEUE": unix.RLIMIT_MSGQUEUE,
	"RLIMIT_NICE": unix.RLIMIT_NICE, "RLIMIT_RTPRIO": unix.RLIMIT_RTPRIO, "RLIMIT_NOFILE": unix.RLIMIT_NOFILE,
	"RLIMIT_FSIZE": unix.RLIMIT_FSIZE, "RLIMIT_NPROC": unix.RLIMIT_NPROC,
}

// rlimits lowers the limits of a Spec. One without a number here is refused:
// what a policy says is enforced or an error.
func rlimits(list []specs.POSIXRlimit) ([]child.Rlimit, error) {
	var out []child.Rlimit
	for _, l := range list {
		number, ok := rlimitNumbers[l.Type]
		if !ok {
			return nil, fmt.Errorf("limit %s is not one that this build sets", l.Type)
		}
		out = append(out, child.Rlimit{Resource: number, Soft: l.Soft, Hard: l.Hard})
	}
	return out, nil
}

// tmpfsSize is the size in bytes that a Spec gives the tmpfs at dest; 0 when it
// gives none.
func tmpfsSize(mounts []specs.Mount, dest string) int64 {
	for _, m := range mounts {
		if m.Type != "tmpfs" || m.Destination != dest {
			continue
		}
		for _, o := range m.Options {
			if text, ok := strings.CutPrefix(o, "size="); ok {
				if n, err := strconv.ParseInt(text, 10, 64); err == nil {
					return n
				}
			}
		}
	}
	return 0
}
