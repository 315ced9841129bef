package e2e

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// flood is what one jail does to its egress process: connections without end, half
// handshakes, heads that do not end, replies that nobody reads and bodies that
// nobody takes. It says so when all of it is under way, and goes on.
const flood = `
import os, socket, ssl, sys, threading
ctx = ssl.create_default_context(cafile='/run/omnijail/ca.pem')
kept = []
def conn():
    s = socket.create_connection(('example.test', 443), timeout=20)
    kept.append(s)
    return s
def tls():
    s = ctx.wrap_socket(conn(), server_hostname='example.test')
    kept.append(s)
    return s
def push(s, data):
    s.settimeout(1)
    try:
        while True: s.sendall(data)
    except OSError: pass
def half(): conn().sendall(b'\x16\x03\x01\x02\x00\x01')
def head(): tls().sendall(b'GET / HTTP/1.1\r\nHost: example.test\r\n' + b''.join(b'X-%d: %s\r\n' % (i, b'a' * 1000) for i in range(60)))
def unread(): tls().sendall(b'GET /bytes?n=1073741824 HTTP/1.1\r\nHost: example.test\r\n\r\n')
def body():
    s = tls()
    s.sendall(b'POST /hold HTTP/1.1\r\nHost: example.test\r\nContent-Length: 1073741824\r\n\r\n')
    push(s, b'a' * 65536)
def denied():
    s = tls()
    s.sendall(b'POST /admin HTTP/1.1\r\nHost: example.test\r\nContent-Length: 1073741824\r\n\r\n')
    push(s, b'a' * 65536)
def many():
    for i in range(10):
        s = socket.create_connection(('example.test', 443), timeout=20)
        s.close()
def run(f):
    try: f()
    except OSError: pass
threads = [threading.Thread(target=run, args=(f,)) for f in (half, head, unread, body, denied, many) for i in range(int(sys.argv[1]))]
for t in threads: t.start()
for t in threads: t.join()
print('under way', flush=True)
sys.stdin.read()
`

// floodEach is how often each of it is done; thirty of all six fill a jail's
// connections.
const floodEach = 5

// TestA75_AFloodLeavesTheOthersTheirNetwork floods the egress process of two jails
// from one of them. The other one is served, by the same process, which stays far
// below the memory it may use.
func TestA75_AFloodLeavesTheOthersTheirNetwork(t *testing.T) {
	n := NewNode(t, Options{})
	allow := []string{"--allow", "GET,POST example.test/**", "--allow", "!* example.test/admin"}
	attacker, other := n.create(t, allow...), n.create(t, allow...)
	n.in(t, other, "curl -sS -f https://example.test/bytes?n=1").Want(t, 0)
	before := egressOf(t, n)

	r := n.launch(t, Ctl{UID: Alice, Args: []string{"exec", "--jail", attacker, "--", "python3", "-c", flood, fmt.Sprint(soak(t, floodEach))}})
	r.says(t, "under way")
	for i := range 5 {
		o := n.in(t, other, fmt.Sprintf("curl -sS -f https://example.test/bytes?n=100000\\&i=%d | wc -c", i)).Want(t, 0)
		if strings.TrimSpace(o.Stdout) != "100000" {
			t.Errorf("the other jail got %q %s", o.Stdout, o.Stderr)
		}
	}
	if after := egressOf(t, n); len(before) == 0 || !slices.Equal(before, after) {
		t.Fatalf("egress processes %v before, %v after", before, after)
	}
	const ceiling = 2 << 30
	peak, limit := memoryOf(t, before[0])
	t.Logf("at most %d MiB of %d", peak>>20, limit>>20)
	if limit != ceiling || peak > ceiling/4 {
		t.Errorf("at most %d bytes of %d", peak, limit)
	}
	r.stdin.Close()
	r.finish(t)
}

// memoryOf reads the most that a process's cgroup has used, and what it may.
func memoryOf(t *testing.T, pid int) (peak, limit int64) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		for _, dir := range []string{"/sys/fs/cgroup/memory" + f[2], "/sys/fs/cgroup" + f[2], "/sys/fs/cgroup/unified" + f[2]} {
			for _, names := range [][2]string{{"memory.max_usage_in_bytes", "memory.limit_in_bytes"}, {"memory.peak", "memory.max"}} {
				p, errp := os.ReadFile(dir + "/" + names[0])
				l, errl := os.ReadFile(dir + "/" + names[1])
				if (f[1] == "memory" || f[1] == "") && errp == nil && errl == nil {
					peak, _ = strconv.ParseInt(strings.TrimSpace(string(p)), 10, 64)
					limit, _ = strconv.ParseInt(strings.TrimSpace(string(l)), 10, 64)
					return peak, limit
				}
			}
		}
	}
	t.Fatalf("no memory controller: %s", b)
	return 0, 0
}
