package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/omnijail/omnijail/internal/landlock"
)

// alone is the backend that needs no bwrap.
const alone = "linux_landlock"

// reach tries to get at what lies outside of a jail and prints one line per
// attempt: "reached", or the error. Its arguments name the targets.
const reach = `
import ctypes, errno, os, resource, socket, sys
grant, outside, control, pid = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
def attempt(name, do):
    try:
        do()
        print(name, "reached")
    except OSError as e:
        print(name, errno.errorcode[e.errno])
def unix(path, kind=socket.SOCK_STREAM):
    socket.socket(socket.AF_UNIX, kind).connect(path)
def pair(kind, path):
    ends = socket.socketpair(socket.AF_UNIX, kind)
    ends[0].sendto(b"x", path)
def segment():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.shmget(pid, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "shmget")
attempt("a socket in the grant", lambda: unix(grant + "/stream"))
attempt("datagrams to the grant", lambda: unix(grant + "/dgram", socket.SOCK_DGRAM))
attempt("datagrams of a pair", lambda: pair(socket.SOCK_DGRAM, grant + "/dgram"))
attempt("raw means datagrams", lambda: pair(socket.SOCK_RAW, grant + "/dgram"))
attempt("a socket elsewhere", lambda: unix(outside + "/bus"))
attempt("the control socket", lambda: unix(control))
attempt("an abstract socket", lambda: unix("\0" + outside))
attempt("a signal", lambda: os.kill(pid, 0))
attempt("a limit", lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE))
attempt("a priority", lambda: os.setpriority(os.PRIO_PROCESS, pid, 5))
attempt("processors", lambda: os.sched_setaffinity(pid, os.sched_getaffinity(pid)))
attempt("a command line", lambda: open("/proc/%d/cmdline" % pid).read())
attempt("shared memory", segment)
attempt("a file elsewhere", lambda: open(outside + "/file").read())
ends = socket.socketpair()
attempt("a pair", lambda: ends[0].send(b"x"))
`

// outsideWorld is what a jail of alice's must not reach: sockets and a process of
// hers, all of them real.
func outsideWorld(t *testing.T, n *Node) (grant, outside string, pid int) {
	t.Helper()
	grant = n.Workspace(t, Alice, map[string]string{"reach.py": reach})
	outside = n.Workspace(t, Alice, map[string]string{"file": "secret"})
	for _, path := range []string{grant + "/stream", outside + "/bus", "@" + outside} {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		if path[0] == '/' {
			os.Chown(path, Alice, Alice)
		}
	}
	d, err := net.ListenPacket("unixgram", grant+"/dgram")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	os.Chown(grant+"/dgram", Alice, Alice)
	victim := exec.Command("/usr/bin/python3", "-c", `
import ctypes, os, signal
assert ctypes.CDLL(None).shmget(os.getpid(), 4096, 0o1600) >= 0
print("ready", flush=True)
signal.pause()`)
	victim.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: Alice, Gid: Alice}}
	ready, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		victim.Process.Kill()
		victim.Wait()
		exec.Command("ipcrm", "-M", strconv.Itoa(victim.Process.Pid)).Run()
	})
	if _, err := ready.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	return grant, outside, victim.Process.Pid
}

// TestS05_LandlockJailReachesNoSocketAndNoProcess makes every attempt outside of
// a jail first, where it must succeed.
func TestS05_LandlockJailReachesNoSocketAndNoProcess(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	grant, outside, pid := outsideWorld(t, n)
	args := []string{"/usr/bin/python3", grant + "/reach.py", grant, outside, n.Socket, fmt.Sprint(pid)}

	free := exec.Command(args[0], args[1:]...)
	free.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: Alice, Gid: Alice, Groups: []uint32{socketGID}}}
	out, err := free.Output()
	if err != nil || strings.Count(string(out), "reached\n") != 15 {
		t.Fatalf("outside not everything is reached (%v):\n%s", err, out)
	}

	named, pair := "EAFNOSUPPORT", "EAFNOSUPPORT"
	if landlock.ScopesPathSockets(landlock.ABI()) {
		named, pair = "EACCES", "EACCES"
	}
	hidden := named
	if named == "EACCES" {
		hidden = "ENOENT"
	}
	o := n.Run(t, Ctl{UID: Alice, Dir: grant, Args: append([]string{"exec", "--backend", alone, "--write", grant, "--"}, args...)}).Want(t, 0)
	wantLines(t, o.Stdout,
		"a socket in the grant "+named,
		"datagrams to the grant "+named,
		"datagrams of a pair "+pair,
		"raw means datagrams "+pair,
		"a socket elsewhere "+hidden,
		"the control socket "+hidden,
		"an abstract socket "+named,
		"a signal ESRCH",
		"a limit ESRCH",
		"a priority ESRCH",
		"processors ESRCH",
		"a command line ENOENT",
		"shared memory ENOENT",
		"a file elsewhere ENOENT",
		"a pair reached")
}

// TestS05_LandlockJailHasItsOwnNamespaces: all seven of them.
func TestS05_LandlockJailHasItsOwnNamespaces(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	const list = `cd /proc/self/ns && for n in cgroup ipc mnt net pid uts user; do readlink $n; done; hostname; cat /proc/1/comm`
	inside := strings.Fields(n.Exec(t, "--backend", alone, "--", "sh", "-c", list).Want(t, 0).Stdout)
	out, err := exec.Command("sh", "-c", list).Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, outside := range strings.Fields(string(out))[:7] {
		if same := inside[i] == outside; same != strings.HasPrefix(outside, "user:") {
			t.Errorf("%s inside, %s outside", inside[i], outside)
		}
	}
	if inside[7] != "omnijail" {
		t.Errorf("host name %s", inside[7])
	}
	t.Run("process 1 is out of reach", func(t *testing.T) {
		o := n.Exec(t, "--backend", alone, "--", "sh", "-c", `
			kill -9 1; ls /proc/1/fd; cat /proc/1/environ; readlink /proc/1/root || echo "not permitted" >&2; cat /proc/1/status | grep -E 'Cap(Eff|Prm|Bnd)|NoNewPrivs|Seccomp:'`)
		wantLines(t, o.Stdout, "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2")
		if got := strings.Count(o.Stderr, "ermission denied") + strings.Count(o.Stderr, "not permitted"); got != 4 {
			t.Errorf("%d refusals, want 4:\n%s", got, o.Stderr)
		}
	})
}

func TestS05_LandlockJailRefusesWhatItCannotKeep(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{
		NoLab:  true,
		Config: map[string]any{"access": []any{map[string]any{"groups": []string{strconv.Itoa(socketGID)}, "policies": []string{"own", "*"}, "weaken": []string{"nested_sandbox"}}}},
		Policy: map[string]string{
			"nested": "backend: linux_landlock\nweaken: [nested_sandbox]\n",
			"either": "backend: [linux_landlock, linux_bwrap]\nweaken: [nested_sandbox]\n",
			"order":  "backend: [linux_landlock, linux_bwrap]\n",
		},
	})
	n.Exec(t, "--policy", "nested", "--", "true").wantRefused(t, "linux_landlock cannot keep nested_sandbox", "nested.yaml:2")
	for policy, backend := range map[string]string{"either": "linux_bwrap", "order": alone} {
		o := n.Exec(t, "-v", "--policy", policy, "--", "true").Want(t, 0)
		if !strings.Contains(o.Stderr, ", "+backend+",") {
			t.Errorf("%s ran in another backend:\n%s", policy, o.Stderr)
		}
	}
	if withoutBwrap() {
		return // it is the node's own then, of which nothing is said
	}
	if o := n.Exec(t, "--policy", "order", "--", "true").Want(t, 0); !strings.Contains(o.Stderr, "jail made by "+alone) {
		t.Errorf("exec does not say that another backend than the node's own ran: %q", o.Stderr)
	}
	if o := n.Exec(t, "--", "true").Want(t, 0); strings.Contains(o.Stderr, "jail made by") {
		t.Errorf("exec says what goes without saying: %q", o.Stderr)
	}
}

// TestLandlockJailKeepsWhatMountsKeep: hidden and protected names hold, although
// Landlock has no word for them.
func TestLandlockJailKeepsWhatMountsKeep(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	dir := n.Workspace(t, Alice, map[string]string{".env": "SECRET=1", ".git/config": "[core]\n", ".git/hooks/pre-commit": "x", "f": "1"})
	o := n.Run(t, Ctl{UID: Alice, Dir: dir, Args: []string{"exec", "--backend", alone, "--write", dir, "--", "sh", "-c",
		`cat .env; echo evil > .git/hooks/pre-commit; mv .git .gone; echo x > /proc/sys/kernel/hostname; cat /proc/kcore; echo 2 > f`}}).Want(t, 0)
	if strings.Contains(o.Stdout, "SECRET") {
		t.Errorf("a hidden file was read: %q", o.Stdout)
	}
	for name, want := range map[string]string{".git/hooks/pre-commit": "x", "f": "2\n"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
			t.Errorf("%s holds %q, %v; want %q", name, b, err, want)
		}
	}
}

// TestANodeWithoutBwrap runs jails when it is told to, and says where it was not
// told to that it does not.
func TestANodeWithoutBwrap(t *testing.T) {
	t.Parallel()
	const absent = "/usr/lib/omnijail/no-bwrap-here"
	n := NewNode(t, Options{NoLab: true, Config: map[string]any{"bwrap": absent, "backend": "linux_bwrap"}, Policy: map[string]string{"either": "backend: [linux_bwrap, linux_landlock]\n"}})
	n.Exec(t, "--", "true").wantRefused(t, "linux_bwrap cannot run here", "backend: linux_landlock")
	if o := n.Exec(t, "--policy", "either", "--", "true").Want(t, 0); !strings.Contains(o.Stderr, "jail made by "+alone+": linux_bwrap cannot run here") {
		t.Errorf("exec does not say that it passed a backend over: %s", o.Stderr)
	}
	n = NewNode(t, Options{Config: map[string]any{"bwrap": absent, "backend": alone}})
	o := n.Run(t, Ctl{UID: Alice, Env: []string{"GH_TOKEN=" + Token}, Args: []string{"exec", "--preset", "github-read", "--", "gh", "api", "user", "-q", ".login"}}).Want(t, 0)
	if o.Stdout != "octocat\n" || o.Stderr != "" {
		t.Errorf("gh printed %q\nstderr: %s", o.Stdout, o.Stderr)
	}
	n.Exec(t, "--backend", "linux_bwrap", "--", "true").wantRefused(t, "linux_bwrap cannot run here")
	doctor := n.Run(t, Ctl{UID: Alice, Args: []string{"doctor"}})
	if doctor.Exit != 1 || !strings.Contains(doctor.Stdout, "linux_bwrap (cannot run here)") {
		t.Errorf("doctor ends with %d:\n%s", doctor.Exit, doctor.Stdout)
	}
	for script, exit := range map[string]int{"exit 7": 7, "kill -9 $$": 137, "sleep 1000 & exit 0": 0, "no-such-program": 127} {
		n.Exec(t, "--", "sh", "-c", script).Want(t, exit)
	}
	n.Exec(t, "--", "no-such-program").Want(t, 127)
}
