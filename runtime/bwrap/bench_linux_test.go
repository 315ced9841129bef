package bwrap_test

import (
	"os/exec"
	"slices"
	"testing"
	"time"
)

// bare is the command line of the same mounts by hand.
var bare = []string{
	"--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/sbin", "/sbin",
	"--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
	"--ro-bind", "/sys/devices/system/cpu", "/sys/devices/system/cpu", "--ro-bind", "/etc/passwd", "/etc/passwd",
	"--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/dev/shm", "--tmpfs", "/home/someone", "--proc", "/proc",
	"--ro-bind", "/dev/null", "/proc/keys", "--ro-bind", "/dev/null", "/proc/timer_list",
	"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup", "--die-with-parent", "/bin/true",
}

// BenchmarkStart runs /bin/true through the whole way (pipes, devpts, plan,
// stage, bwrap, init) and, in turn with it, through a bare bwrap as root with
// the same mounts. It reports the medians and their ratio.
func BenchmarkStart(b *testing.B) {
	r := newRig(b)
	var ours, theirs []time.Duration
	for b.Loop() {
		begin := time.Now()
		r.start1(b)
		ours = append(ours, time.Since(begin))
		begin = time.Now()
		cmd := exec.Command("/usr/bin/bwrap", bare...)
		cmd.Env = []string{}
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		theirs = append(theirs, time.Since(begin))
	}
	report(b, "jail", ours)
	report(b, "bare", theirs)
	b.ReportMetric(float64(median(ours))/float64(median(theirs)), "ratio")
}

func (r *rig) start1(b *testing.B) {
	o := r.run(b, command{argv: []string{"/bin/true"}, layout: layout(), descs: noDescs})
	if o.err != nil || o.exit != 0 {
		b.Fatalf("%v %d %s", o.err, o.exit, o.complaint)
	}
}

func report(b *testing.B, name string, d []time.Duration) {
	b.ReportMetric(float64(median(d).Microseconds()), name+"-us")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
