package e2e

import (
	"strings"
	"testing"
)

// Each limit is held by the kernel and named when a command runs into it. Where
// the node has no controller for one, the exec is refused, which fails here too.
func TestLimits(t *testing.T) {
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{"small": `
caller: [cwd, tty, timeout, limits]
limits: {memory: 256MiB, pids: 64, open_files: 32, file_size: 1MiB, scratch: 4MiB}
`, "swapping": "limits: {memory: 64MiB, swap: 32MiB}"}})
	for name, c := range map[string]struct {
		args []string
		exit int
		say  string // on standard error
	}{
		"memory": {[]string{"--memory", "64m", "--", "/usr/bin/python3", "-c", "x = bytearray(200 << 20)"}, 137,
			"omnijailctl: killed: memory limit 64 MiB, peak 64 MiB, by python3\nhint: --memory 128m\n"},
		"memory of the policy": {[]string{"--policy", "small", "--", "/usr/bin/python3", "-c", "x = bytearray(400 << 20)"}, 137,
			"killed: memory limit 256 MiB"},
		"a request never widens": {[]string{"--policy", "small", "--memory", "1g", "--", "/usr/bin/python3", "-c", "x = bytearray(400 << 20)"}, 137,
			"killed: memory limit 256 MiB"},
		"memory and swap": {[]string{"--policy", "swapping", "--", "/usr/bin/python3", "-c", "x = bytearray(200 << 20)"}, 137,
			"killed: memory limit 64 MiB and 32 MiB of swap, peak "},
		"too little for the beginning of a jail": {[]string{"--memory", "64", "--", "true"}, 125, "omnijailctl: memory: must be at least 16 MiB"},
		"processes": {[]string{"--pids", "20", "--", "sh", "-c", "for i in $(seq 40); do sleep 60 & done; wait"}, 2,
			"limit 20 processes"},
		"time": {[]string{"--timeout", "300ms", "--", "sleep", "60"}, 124,
			"stopped: time limit 300ms"},
		"time, and a command that ignores SIGTERM": {[]string{"--timeout", "300ms", "--", "sh", "-c", "trap '' TERM; sleep 60 & wait; sleep 60"}, 124,
			"stopped: time limit 300ms"},
		"open files": {[]string{"--policy", "small", "--", "sh", "-c", "ulimit -n; ulimit -n 64"}, 2, "ulimit"},
		"file size":  {[]string{"--policy", "small", "--", "sh", "-c", "head -c 2000000 /dev/zero > /tmp/x"}, 153, ""},
		"scratch":    {[]string{"--policy", "small", "--", "sh", "-c", "for i in 1 2 3 4 5 6 7; do head -c 1000000 /dev/zero > /tmp/$i || exit 7; done"}, 7, "No space left"},
	} {
		t.Run(name, func(t *testing.T) {
			o := n.Exec(t, c.args...).Want(t, c.exit)
			if !strings.Contains(o.Stderr, c.say) {
				t.Errorf("stderr says %q, not %q", o.Stderr, c.say)
			}
		})
	}
}
