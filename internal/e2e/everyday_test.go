package e2e

import (
	"strings"
	"testing"
)

// everyday is what interpreters and their libraries do without a thought.
const everyday = `import asyncio, ctypes, fcntl, mmap, multiprocessing, os, pwd, socket, sqlite3, tempfile
from multiprocessing import shared_memory
def square(x): return x * x
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool: print("pool", pool.map(square, [1, 2, 3]))
    shared_memory.SharedMemory(create=True, size=100).unlink()
    print("home", pwd.getpwuid(os.getuid()).pw_dir == os.environ["HOME"])
    a, b = socket.socketpair()
    a.send(b"pair"); print(b.recv(9).decode())
    d = tempfile.mkdtemp()
    os.mkfifo(d + "/fifo")
    db = sqlite3.connect(d + "/db")
    db.execute("pragma journal_mode=wal"); db.execute("create table t(a)"); db.commit()
    fcntl.flock(open(d + "/lock", "w"), fcntl.LOCK_EX)
    memory = os.memfd_create("m"); os.truncate(memory, 4096); mmap.mmap(memory, 4096)
    libc = ctypes.CDLL(None, use_errno=True)
    print("descriptors", min(libc.inotify_init1(0), libc.timerfd_create(1, 0), libc.eventfd(0, 0), libc.epoll_create1(0)) > 0)
    os.setpriority(os.PRIO_PROCESS, 0, 5)
    async def sub():
        p = await asyncio.create_subprocess_exec("echo", "child", stdout=asyncio.subprocess.PIPE)
        return (await p.communicate())[0].decode().strip()
    print(asyncio.run(sub()))
`

// The filter and the walls of a jail are in the way of no everyday work: pools of
// workers, sockets to a child, locks, shared memory, the user's own name.
func TestEverydayWork(t *testing.T) {
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{"both": "caller: [cwd, backend]\nwrite_paths: [\".\"]\n"}})
	dir := n.Workspace(t, Alice, map[string]string{
		"everyday.py": everyday, "child.js": "process.send(process.argv[2])",
		"parent.js": `const p = require("child_process").fork("./child.js", ["forked"]); p.on("message", m => console.log(m))
new (require("worker_threads").Worker)('require("worker_threads").parentPort.postMessage("worker")', {eval: true}).on("message", m => console.log(m))`,
		"Makefile": "all: a b\na b:\n\t@echo $@\n",
	})
	for _, backend := range []string{"linux_bwrap", alone} {
		t.Run(backend, func(t *testing.T) {
			run := func(argv ...string) string {
				args := append([]string{"exec", "-q", "--policy", "both", "--backend", backend, "--"}, argv...)
				return n.Run(t, Ctl{UID: Alice, Dir: dir, Args: args}).Want(t, 0).Stdout
			}
			wantLines(t, run("python3", "everyday.py"), "pool [1, 4, 9]", "home True", "pair", "descriptors True", "child")
			if out := run("node", "parent.js"); !strings.Contains(out, "forked\n") || !strings.Contains(out, "worker\n") {
				t.Errorf("node: %q", out)
			}
			wantLines(t, run("bash", "-c", "cat <(echo substituted); make -sj2 | sort; mktemp >/dev/null && hostname"), "substituted", "a", "b", "omnijail")
		})
	}
}
