package peercred

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// InCgroup reports whether contains holds of one of the peer's cgroups. A path is
// as /proc/PID/cgroup writes it, one per hierarchy.
func InCgroup(c Caller, contains func(path string) bool) (bool, error) {
	if err := c.alive(); err != nil {
		return false, err
	}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(c.pid) + "/cgroup")
	if err != nil {
		return false, fmt.Errorf("cgroup of the peer: %w", err)
	}
	if err := c.alive(); err != nil {
		return false, err
	}
	for line := range bytes.Lines(text) {
		_, rest, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), ":")
		if _, path, ok := strings.Cut(rest, ":"); ok && contains(path) {
			return true, nil
		}
	}
	return false, nil
}
