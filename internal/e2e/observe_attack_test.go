package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// attempts prints one line per refused thing and the error that it got.
const attempts = `import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(name, nr, *a):
    ctypes.set_errno(0)
    r = libc.syscall(nr, *[ctypes.c_long(x) for x in a])
    print(name, r, ctypes.get_errno())
call("unshare user", 272, 0x10000000); call("clone user", 56, 0x10000011, 0, 0, 0, 0)
call("mount", 165, 0, 0, 0, 0, 0); call("setns", 308, 0, 0); call("chroot", 161, 0); call("ptrace", 101, 0, 0, 0, 0)
call("bpf", 321, 0, 0, 0); call("io_uring", 425, 1, 0); call("keyctl", 250, 0, 0); call("userfaultfd", 323, 0)
call("perf", 298, 0, 0, 0, 0, 0); call("process_vm_readv", 310, 1, 0, 0, 0, 0, 0); call("personality", 135, 0x0040000)
call("clone3", 435, 0, 0); call("openat2", 437, 0, 0, 0, 0); call("new", 470)
call("vsock", 41, 40, 1, 0); call("packet", 41, 17, 3, 0); call("mptcp", 41, 2, 1, 262)
call("core", 160, 4, 0); call("typing", 16, 0, 0x5412, 0)
f = os.open("/tmp/f", os.O_CREAT | os.O_WRONLY, 0o644)
call("setuid bit", 91, f, 0o4755)
try: os.chmod("/tmp/f", 0o4755); print("chmod ok")
except OSError as e: print("chmod", e.errno)
for p in ("/etc/shadow", "/root", "/proc/1/environ", "/nowhere"):
    try: os.open(p, os.O_RDONLY); print(p, "opened")
    except OSError as e: print(p, e.errno)
try: open("/usr/x", "w"); print("wrote")
except OSError as e: print("/usr/x", e.errno)
`

func TestAnObservedJailIsRefusedWhatEveryJailIs(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{"default": "observe: true", "unseen": ""}})
	seen := n.Exec(t, append([]string{"--"}, python(attempts)...)...).Want(t, 0)
	unseen := n.Exec(t, append([]string{"--policy", "unseen", "--"}, python(attempts)...)...).Want(t, 0)
	if seen.Stdout != unseen.Stdout || strings.Count(seen.Stdout, "\n") < 25 {
		t.Errorf("observed:\n%s\nnot observed:\n%s", seen.Stdout, unseen.Stdout)
	}
	if !strings.Contains(seen.Stderr, "system call refused: ptrace") || !strings.Contains(seen.Stderr, `hint: weaken: ["ptrace"]`) {
		t.Errorf("%s", seen.Stderr)
	}
}

// swaps changes a path in memory while another thread opens it.
const swaps = `import ctypes, os, threading
libc = ctypes.CDLL(None, use_errno=True)
buf = ctypes.create_string_buffer(64)
good, bad = b"/etc/passwd".ljust(40, b"\0"), os.environ["TARGET"].encode().ljust(40, b"\0")
stop = False
def swap():
    while not stop:
        ctypes.memmove(buf, good, 40); ctypes.memmove(buf, bad, 40)
t = threading.Thread(target=swap); t.start()
for i in range(2000):
    fd = libc.openat(-100, buf, 0)
    if fd >= 0:
        if b"outside" in os.read(fd, 100): print("ESCAPED")
        os.close(fd)
stop = True; t.join(); print("done")
`

func TestS10_APathThatChangesUnderTheObserverOpensNothing(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{"default": "caller: [cwd, tty, timeout, env]\nobserve: true"}})
	dir := n.Workspace(t, Alice, map[string]string{"s": "outside"})
	link := filepath.Join(n.Dir, "t")
	if err := os.Symlink(filepath.Join(dir, "s"), link); err != nil {
		t.Fatal(err)
	}
	o := n.Exec(t, append([]string{"--env", "TARGET=" + link, "--"}, python(swaps)...)...).Want(t, 0)
	if o.Stdout != "done\n" {
		t.Errorf("%s", o.Stdout)
	}
}

// observers are the node's scouts that hold the notifications of a jail.
func (n *Node) observers() (pids []int) {
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, l := range links {
		to, err := os.Readlink(l)
		if err != nil || to != "anon_inode:seccomp notify" {
			continue
		}
		dir := filepath.Dir(filepath.Dir(l))
		status, _ := os.ReadFile(filepath.Join(dir, "status"))
		if strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", n.PID())) {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			pids = append(pids, pid)
		}
	}
	return pids
}

// Whoever ends the observer gets a jail in which nothing more is opened or allowed.
func TestAJailWithoutItsObserverIsRefusedMore(t *testing.T) {
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{"default": "observe: true"}})
	r := n.launch(t, Ctl{UID: Alice, Args: append([]string{"exec", "--"}, python(`import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
print("up", flush=True)
sys.stdin.readline()
try: os.open("/etc/passwd", os.O_RDONLY); print("opened")
except OSError as e: print("open", e.errno)
r = libc.unshare(0x10000000); print("unshare", r, ctypes.get_errno(), flush=True)
`)...)})
	r.says(t, "up\n")
	pids := n.observers()
	if len(pids) != 1 {
		t.Fatalf("observers: %v", pids)
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pids[0]))
	if !strings.Contains(string(status), "\nUid:\t2001\t2001\t2001\t2001\n") || !strings.Contains(string(status), "\nCapPrm:\t0000000000000000\n") {
		t.Errorf("the observer is not alice:\n%s", status)
	}
	syscall.Kill(pids[0], syscall.SIGKILL)
	r.tell(t, "")
	r.says(t, "open 38\n")
	r.says(t, "unshare -1 38\n")
}
