package e2e

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// A root service is spared by the OOM killer, may lock memory, and may have any
// priority; its jails have none of that.
func TestS27_NothingOfARootServicesRights(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	n.Stop(t)
	started := make(chan error)
	go func() {
		defer close(started)
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		const self, realtimeIO = 1, 1 << 13
		_, _, errno := unix.Syscall(unix.SYS_IOPRIO_SET, self, 0, realtimeIO)
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, -15); err != nil || errno != 0 {
			started <- fmt.Errorf("set priorities: %v, %v", err, errno)
			return
		}
		n.Start(t)
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	pid := n.PID()
	for _, resource := range []int{unix.RLIMIT_MEMLOCK, unix.RLIMIT_RTPRIO, unix.RLIMIT_NICE, unix.RLIMIT_SIGPENDING, unix.RLIMIT_STACK, unix.RLIMIT_CORE, unix.RLIMIT_NOFILE, unix.RLIMIT_MSGQUEUE} {
		var l unix.Rlimit
		if err := unix.Prlimit(pid, resource, nil, &l); err != nil {
			t.Fatal(err)
		}
		all := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
		if unix.Prlimit(pid, resource, &all, nil) == nil {
			continue
		}
		l.Cur = l.Max // where this machine's root may not raise it
		if err := unix.Prlimit(pid, resource, &l, nil); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string) {
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/%s", pid, name), []byte(text), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("-900"), 0); err != nil {
		t.Logf("this machine's root may not spare a process: %v", err)
	}
	write("coredump_filter", "0x7f")
	write("timerslack_ns", "1")
	dir := n.Workspace(t, Alice, nil)
	out := n.sh(t, dir, `
		cat /proc/self/oom_score_adj /proc/self/coredump_filter; cat /proc/self/timerslack_ns 2>/dev/null
		nice; ionice; umask; cat /proc/self/personality 2>/dev/null
		ulimit -n; grep -E 'locked|realtime priority|nice|msgqueue|core' /proc/self/limits | tr -s ' '
		grep -E 'SigBlk|SigIgn|THP_enabled' /proc/self/status
		taskset -p $$ | sed 's/.*: //'; cat /proc/self/loginuid 2>/dev/null | grep -v 2001; chrt -p $$ | grep -o SCHED.*; true`)
	mask := fmt.Sprintf("%x", 1<<cpus(t)-1)
	wantLines(t, out,
		"200", "00000033", "50000", "0", "none: prio 0", "0022", "00000000", "1024",
		"Max core file size 1 1 bytes ", "Max locked memory 8388608 8388608 bytes ", "Max msgqueue size 819200 819200 bytes ", "Max nice priority 0 0 ", "Max realtime priority 0 0 ",
		"THP_enabled:\t1", "SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000", mask, "SCHED_OTHER")
}

// cpus is how many this node has.
func cpus(t testing.TB) int {
	t.Helper()
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	return all.Count()
}
