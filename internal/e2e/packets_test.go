package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// datagrams sends one to each address in turn.
const datagrams = `python3 -c '
import socket, sys
for to in sys.argv[1:]:
    host, port = to.rsplit(" ", 1)
    s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
    try: s.sendto(b"x", (host, int(port)))
    except OSError as e: print(e.strerror)
' `

// What a jail sends beside TCP and DNS is seen where the policy says so: in the
// command's own messages, in the journal, and explained.
func TestObservePackets(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{Policy: map[string]string{
		"seen": "observe: true\negress_rules: [\"GET example.test/**\"]\n", "unseen": "egress_rules: [\"GET example.test/**\"]\n",
		"alone": "backend: linux_landlock\nobserve: true\negress_rules: [\"GET example.test/**\"]\n",
	}})
	const reason = "nothing but TCP and DNS leaves a jail"
	for _, policy := range []string{"seen", "alone"} {
		o := n.Exec(t, "--policy", policy, "--", "sh", "-c", datagrams+`'10.0.0.1 123' '10.0.0.1 123' '2001:db8::1 443' "$(getent ahostsv4 example.test | head -n 1 | cut -d ' ' -f 1) 443" '127.0.0.1 9'; curl -sS -o /dev/null https://example.test/status?code=200`).Want(t, 0)
		for _, want := range []string{"denied UDP 10.0.0.1:123: " + reason, "denied UDP [2001:db8::1]:443: " + reason, "denied UDP example.test:443: " + reason} {
			if strings.Count(o.Stderr, want) != 1 {
				t.Errorf("%s: not %q, once, in:\n%s", policy, want, o.Stderr)
			}
		}
		if strings.Contains(o.Stderr, "127.0.0.1") || strings.Contains(o.Stderr, "denied TCP") {
			t.Errorf("%s: what is not refused is reported:\n%s", policy, o.Stderr)
		}
	}
	events := n.Run(t, Ctl{UID: Alice, Args: []string{"--json", "events", "--denied"}}).Want(t, 0).Stdout
	id := regexp.MustCompile(`"kind":"packet"[^\n]*"id":"([0-9a-f]{8})"[^\n]*"10\.0\.0\.1:123"`).FindStringSubmatch(events)
	if id == nil {
		t.Fatalf("no packet in the journal:\n%s", events)
	}
	if o := n.Run(t, Ctl{UID: Alice, Args: []string{"why", id[1]}}).Want(t, 0); !strings.Contains(o.Stdout, reason) || !strings.Contains(o.Stdout, "UDP 10.0.0.1:123") {
		t.Errorf("why says\n%s", o.Stdout)
	}
	if o := n.Exec(t, "--policy", "unseen", "--", "sh", "-c", datagrams+`'10.0.0.1 123'`).Want(t, 0); strings.Contains(o.Stderr, "UDP") {
		t.Errorf("without observe:\n%s", o.Stderr)
	}
}

// pings asks for each socket that could carry an echo request.
const pings = `python3 -c '
import socket
for family, proto in (socket.AF_INET, 1), (socket.AF_INET6, 58):
    for kind in socket.SOCK_DGRAM, socket.SOCK_RAW:
        try: socket.socket(family, kind, proto); print("made")
        except PermissionError: print("refused")'`

// An echo request is refused before it is one: nothing is waited for. And an observed jail's owner
// reads of it.
func TestObservePings(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{"seen": "observe: true\negress_rules: [\"GET example.test/**\"]\n", "unseen": "egress_rules: [\"GET example.test/**\"]\n"}})
	const want = "denied ICMP or raw IP: nothing but TCP and DNS leaves a jail"
	for policy, times := range map[string]int{"seen": 1, "unseen": 0} {
		o := n.Exec(t, "--policy", policy, "--", "sh", "-c", pings).Want(t, 0)
		if o.Stdout != strings.Repeat("refused\n", 4) || strings.Count(o.Stderr, want) != times {
			t.Errorf("%s: %q\n%s", policy, o.Stdout, o.Stderr)
		}
	}
	events := n.Run(t, Ctl{UID: Alice, Args: []string{"--json", "events", "--denied"}}).Want(t, 0).Stdout
	id := regexp.MustCompile(`"kind":"packet"[^\n]*"id":"([0-9a-f]{8})"[^\n]*"ICMP or raw IP"`).FindStringSubmatch(events)
	if id == nil {
		t.Fatalf("no ping in the journal:\n%s", events)
	}
	if o := n.Run(t, Ctl{UID: Alice, Args: []string{"why", id[1]}}).Want(t, 0); !strings.Contains(o.Stdout, "ICMP or raw IP\n") || !strings.Contains(o.Stdout, "nothing but TCP and DNS leaves a jail") {
		t.Errorf("why says\n%s", o.Stdout)
	}
}

// A jail that floods fills neither the journal nor the egress process, and what it
// sends is never another jail's doing.
func TestS22_AFloodOfPackets(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true, Policy: map[string]string{"default": "observe: true\n"}})
	quiet := n.create(t)
	n.Run(t, Ctl{UID: Alice, Args: []string{"exec", "--jail", quiet, "--", "sh", "-c", datagrams + `'192.0.2.77 7'`}}).Want(t, 0)
	egress := egressOf(t, n)
	if len(egress) != 1 {
		t.Fatalf("egress processes: %v", egress)
	}
	before := resident(t, egress[0])
	o := n.Exec(t, "--", "python3", "-c", `
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(100000):
    s.sendto(b"x" * 512, ("10.%d.%d.%d" % (i >> 16, i >> 8 & 255, i & 255), 9))
`).Want(t, 0)
	if grown := resident(t, egress[0]) - before; grown > 16<<20 {
		t.Errorf("the egress process has grown by %d bytes", grown)
	}
	if lines := strings.Count(o.Stderr, "UDP"); lines == 0 || lines > 450 {
		t.Errorf("%d lines for the client", lines)
	}
	events := n.Run(t, Ctl{UID: Alice, Args: []string{"--json", "events", "--denied"}}).Want(t, 0).Stdout
	told := 0
	for line := range strings.Lines(events) {
		if !strings.Contains(line, `"kind":"packet"`) {
			continue
		}
		told++
		if own := strings.Contains(line, `"192.0.2.77:7"`); own != strings.Contains(line, quiet) {
			t.Errorf("one jail's packet is another's: %s", line)
		}
	}
	if told < 2 || told > 450 { // two windows, if the flood lies across
		t.Errorf("%d records of 100,000 packets", told)
	}
}

// resident is the memory of a process that is its own, in bytes.
func resident(t testing.TB, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`RssAnon:\s+(\d+) kB`).FindStringSubmatch(string(b))
	if m == nil {
		t.Fatalf("no RssAnon in %s", b)
	}
	kb, _ := strconv.Atoi(m[1])
	return kb << 10
}
