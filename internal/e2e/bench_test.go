package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/omnijail/omnijail/api"
)

// contender is one way to run a command. All of them take turns in one loop, so
// that whatever else the machine does meets them alike.
type contender struct {
	name  string
	every int                 // takes part in each every-th turn
	run   func() (end func()) // end is not measured; nil for nothing to do
	took  []time.Duration
}

// rest is how long the machine has before each contender: what the one before it has
// left to be done (the next jail is made, a bwrap's mounts are undone) is in nobody's
// figure.
const rest = 30 * time.Millisecond

// turns measures the contenders and reports their medians in microseconds, and
// that of each divided by that of the last.
func turns(b *testing.B, all ...*contender) {
	b.Helper()
	for i := 0; b.Loop(); i++ {
		for _, c := range all {
			if i%c.every != 0 {
				continue
			}
			time.Sleep(rest)
			began := time.Now()
			end := c.run()
			c.took = append(c.took, time.Since(began))
			if end != nil {
				end()
			}
		}
	}
	base := median(all[len(all)-1].took)
	for _, c := range all {
		m := median(c.took)
		b.ReportMetric(float64(m.Microseconds()), c.name+"-us")
		if c != all[len(all)-1] {
			b.ReportMetric(float64(m)/float64(base), c.name+"/"+all[len(all)-1].name)
		}
	}
	b.ReportMetric(0, "ns/op") // the turn as a whole means nothing
}

func median(d []time.Duration) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[len(d)/2]
}

// cold is how often the cold start is measured: each makes an egress process.
const cold = 10

// bench is a node with a workspace and the same mounts for a bare bwrap.
type bench struct {
	n    *Node
	ws   string
	etc  string
	null *os.File
	uid  uint32 // of the latest cold start
}

func newBench(b *testing.B) *bench {
	b.Helper()
	n := NewNode(b, Options{Policy: map[string]string{"bench": killPolicy}})
	s := &bench{n: n, ws: n.Workspace(b, Alice, map[string]string{"main.go": "package main"}), uid: 20000}
	s.etc = filepath.Join(n.Dir, "etc")
	if err := os.MkdirAll(filepath.Join(s.etc, "ssl"), 0o755); err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"passwd", "group", "hosts", "nsswitch.conf", "ld.so.cache", "ssl/certs"} {
		if out, err := exec.Command("cp", "-a", "/etc/"+name, filepath.Join(s.etc, name)).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	err := os.Chmod(s.ws, 0o777) // a cold start is one of another user's
	if err != nil {
		b.Fatal(err)
	}
	if s.null, err = os.OpenFile("/dev/null", os.O_RDWR, 0); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.null.Close() })
	return s
}

// bare is a bwrap with the mounts and namespaces of a jail, started by root as
// the daemon does it.
func (s *bench) bare(argv ...string) *exec.Cmd {
	args := []string{
		"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup", "--unshare-net", "--hostname", "omnijail",
		"--die-with-parent", "--cap-drop", "ALL",
		"--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/sbin", "/sbin",
		"--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
		"--ro-bind", "/sys/devices/system/cpu", "/sys/devices/system/cpu", "--ro-bind", s.etc, "/etc",
		"--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/dev/shm", "--tmpfs", "/home/alice", "--proc", "/proc",
		"--ro-bind", "/proc/sys", "/proc/sys", "--ro-bind", "/dev/null", "/proc/keys",
		"--ro-bind", "/dev/null", "/proc/timer_list",
		"--bind", s.ws, s.ws, "--chdir", s.ws,
	}
	cmd := exec.Command("/usr/bin/bwrap", append(args, argv...)...)
	cmd.Env = []string{}
	return cmd
}

// byteFrom waits until a command has written: it has certainly been executed.
func byteFrom(b *testing.B, r *os.File) {
	b.Helper()
	if _, err := r.Read(make([]byte, 16)); err != nil {
		b.Fatalf("the command did not write: %v", err)
	}
	r.Close()
}

func pipeFor(b *testing.B) (r, w *os.File) {
	b.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	return r, w
}

// bareEcho starts echo in a bare bwrap and waits for its byte.
func (s *bench) bareEcho(b *testing.B) (end func()) {
	r, w := pipeFor(b)
	cmd := s.bare("/usr/bin/echo")
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	w.Close()
	byteFrom(b, r)
	return func() { cmd.Wait() }
}

// request starts echo through the API, as a client that runs already, and waits
// for its byte.
func (s *bench) request(b *testing.B, uid uint32) (end func()) {
	r, w := pipeFor(b)
	c := &api.Client{Socket: s.n.Socket}
	session, err := c.Exec(context.Background(), api.ExecRequest{
		Argv: []string{"echo"}, Cwd: s.ws, Policy: []byte(`"bench"`), User: fmt.Sprintf("%d:%d", uid, Alice),
		Context: map[string]string{"PATH": "/usr/bin:/bin"},
	}, [3]*os.File{s.null, w, s.null}, nil)
	w.Close()
	if err != nil {
		b.Fatal(err)
	}
	byteFrom(b, r)
	return func() {
		defer session.Close()
		for {
			if ev, _, err := session.Next(); err != nil || ev.Exit != nil {
				return
			}
		}
	}
}

// BenchmarkRequestToCommand: from a request to the command's first output, with
// the caller's egress process running, and with none, against a bare bwrap.
func BenchmarkRequestToCommand(b *testing.B) {
	s := newBench(b)
	s.request(b, Alice)()
	turns(b,
		&contender{name: "warm", every: 1, run: func() func() { return s.request(b, Alice) }},
		&contender{name: "cold", every: cold, run: func() func() {
			s.uid++
			return s.request(b, s.uid)
		}},
		&contender{name: "bare", every: 1, run: func() func() { return s.bareEcho(b) }},
	)
}

// BenchmarkExecTrue: `omnijailctl exec -- true` from start to end, against a bare
// bwrap. "client" is what starting omnijailctl takes by itself.
func BenchmarkExecTrue(b *testing.B) {
	s := newBench(b)
	ctl := func(uid uint32, args ...string) {
		cmd := s.n.Command(b, Ctl{UID: uid, Dir: s.ws, Args: args})
		if err := cmd.Run(); err != nil {
			b.Fatalf("omnijailctl %v: %v", args, err)
		}
	}
	exec := []string{"exec", "--policy", "bench", "--", "true"}
	ctl(Alice, exec...)
	turns(b,
		&contender{name: "warm", every: 1, run: func() func() { ctl(Alice, exec...); return nil }},
		&contender{name: "cold", every: cold, run: func() func() {
			s.uid++
			ctl(s.uid, exec...)
			return nil
		}},
		&contender{name: "client", every: 1, run: func() func() { ctl(Alice, "version"); return nil }},
		&contender{name: "bare", every: 1, run: func() func() {
			if err := s.bare("/usr/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
			return nil
		}},
	)
}
