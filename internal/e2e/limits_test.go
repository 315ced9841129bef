package e2e

import (
	"fmt"
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
		"file size": {[]string{"--policy", "small", "--", "sh", "-c", "head -c 2000000 /dev/zero > /tmp/x"}, 153,
			"killed: a file was to be larger than the limit of 1 MiB\nhint: limits: {file_size: 2MiB}\n"},
		"file size of a shell that goes on": {[]string{"--policy", "small", "--", "sh", "-c", "dd if=/dev/zero of=/tmp/x bs=2M count=1; exit 3"}, 3, ""},
		"scratch": {[]string{"--policy", "small", "--", "sh", "-c", "for i in 1 2 3 4 5 6 7; do head -c 1000000 /dev/zero > /tmp/$i || exit 7; done"}, 7,
			"omnijailctl: /tmp is full: scratch limit 4 MiB\nhint: limits: {scratch: 8MiB}\n"},
		"scratch of the home": {[]string{"--policy", "small", "--", "sh", "-c", "for i in 1 2 3 4 5 6 7; do head -c 1000000 /dev/zero > ~/$i || exit 7; done"}, 7,
			"is full: scratch limit 4 MiB"},
		"scratch that was full for a moment":  {[]string{"--policy", "small", "--", "sh", "-c", "head -c 4194304 /dev/zero > /tmp/x; rm /tmp/x; exit 7"}, 7, ""},
		"scratch that is full and was enough": {[]string{"--policy", "small", "--", "sh", "-c", "head -c 9000000 /dev/zero > /tmp/x; true"}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := n.Exec(t, c.args...).Want(t, c.exit)
			if !strings.Contains(o.Stderr, c.say) {
				t.Errorf("stderr says %q, not %q", o.Stderr, c.say)
			}
		})
	}
}

// spend uses processor time and says how long that took.
const spend = `import os, time
began = time.monotonic()
while time.process_time() < 0.4: pass
print(0.4 / (time.monotonic() - began) < 0.5)
`

// counts says how many processors there are, as programs ask.
const counts = `nproc; getconf _NPROCESSORS_ONLN; python3 -c 'import os; print(os.cpu_count(), len(os.sched_getaffinity(0)))'
	node -p 'require("os").availableParallelism()'; java Count.java`

// A command has no more processor time than its limit, and is told of no more
// processors than that would keep busy: who counts the node's starts as many workers,
// which then stand in each other's way.
func TestProcessorTime(t *testing.T) {
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{
		"quarter": "caller: [cwd, backend]\nlimits: {cpu: 0.25}\n", "plenty": "caller: [cwd, backend]\nlimits: {cpu: 1000}\n",
	}})
	dir := n.Workspace(t, Alice, map[string]string{
		"Count.java": "class Count { public static void main(String[] a) { System.out.println(Runtime.getRuntime().availableProcessors()); } }",
	})
	for _, backend := range []string{"linux_bwrap", alone} {
		run := func(policy string, argv ...string) string {
			t.Helper()
			args := append([]string{"exec", "-q", "--policy", policy, "--backend", backend, "--"}, argv...)
			return n.Run(t, Ctl{UID: Alice, Dir: dir, Args: args}).Want(t, 0).Stdout
		}
		all := fmt.Sprint(cpus(t))
		wantLines(t, run("plenty", "sh", "-c", counts), all, all, all+" "+all, all, all)
		wantLines(t, run("quarter", "sh", "-c", counts), "1", "1", "1 1", "1", "1")
		wantLines(t, run("quarter", python(spend)...), "True")
	}
}
