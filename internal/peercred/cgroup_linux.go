package peercred

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// InCgroup reports whether the peer is a member of the cgroup dir, or of one
// below it, in any hierarchy. dir is as /proc/PID/cgroup writes it.
func InCgroup(c Caller, dir string) (bool, error) {
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
	return inCgroup(text, dir), nil
}

func inCgroup(text []byte, dir string) bool {
	dir = strings.TrimSuffix(dir, "/")
	for line := range bytes.Lines(text) {
		_, rest, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), ":")
		_, path, ok := strings.Cut(rest, ":")
		if ok && (path == dir || strings.HasPrefix(path, dir+"/")) {
			return true
		}
	}
	return false
}
