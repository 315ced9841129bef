package e2e

import (
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/lab"
)

const takenPolicy = `
egress_rules:
  - "* example.test/**"
  - "GET http://plain.test/**"
  - "tcp://203.0.113.7:7777"
  - "tcp://raw.test:7778"
`

// python that listens on an address and says what became of it.
const bindScript = `python3 -c '
import socket, sys
s = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
s.setsockopt(1, 2, 1); s.setsockopt(1, 15, 1)
try: s.bind((sys.argv[1], int(sys.argv[2]))); s.listen(); print("mine")
except OSError as e: print(e.strerror)
' `

// serveScript answers on its address until the shell ends, and asks itself.
const serveScript = `python3 -m http.server %s >/dev/null 2>&1 & until (exec 3<>/dev/tcp/127.0.0.1/%s) 2>/dev/null; do :; done; curl -sS -o /dev/null -w '%{http_code}' http://127.0.0.1:%s/; kill %1`

// TestInterception runs the same commands in jails whose connections are steered by
// the kernel, and in those that have a listener for each port that a rule names.
// What differs is what the second kind of node cannot do.
func TestInterception(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"sk_lookup", "ports"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			n := NewNode(t, Options{
				Config: map[string]any{"interception": way}, Policy: map[string]string{"taken": takenPolicy},
				Hosts: func(n *Node) map[string]string {
					raw := echoServer(t)
					return map[string]string{
						"example.test:443": n.Lab.HTTPS().String(), "plain.test:80": n.Lab.HTTP().String(),
						"203.0.113.7:7777": raw, "raw.test:7778": raw,
					}
				},
			})
			for _, c := range intercepted {
				want := c.steered
				if way == "ports" && c.byPort != "" {
					want = c.byPort
				}
				t.Run(c.name, func(t *testing.T) {
					o := n.Exec(t, "--policy", "taken", "--", "bash", "-c", c.script+"; true").Want(t, 0)
					if strings.TrimSpace(o.Stdout) != want {
						t.Errorf("%q, want %q\n%s", o.Stdout, want, o.Stderr)
					}
					if !strings.Contains(o.Stderr, c.says) {
						t.Errorf("no %q in\n%s", c.says, o.Stderr)
					}
				})
			}
		})
	}
}

// intercepted are commands and what they print; byPort where that differs. says is
// what the owner is told.
var intercepted = []struct{ name, script, steered, byPort, says string }{
	{"a name", `curl -sS -o /dev/null -w '%{http_code}' https://example.test/status?code=204`, "204", "", ""},
	{"over IPv4", `curl -4 -sS -o /dev/null -w '%{http_code}' https://example.test/status?code=204`, "204", "", ""},
	{"over IPv6", `curl -6 -sS -o /dev/null -w '%{http_code}' https://example.test/status?code=204`, "204", "", ""},
	{"plain http", `curl -sS -o /dev/null -w '%{http_code}' http://plain.test/status?code=203`, "203", "", ""},
	{"an address that a rule lists", `exec 3<>/dev/tcp/203.0.113.7/7777; echo hello >&3; head -n 1 <&3`, "hello", "", ""},
	{"a port that a rule lists", `exec 3<>/dev/tcp/raw.test/7778; echo hello >&3; head -n 1 <&3`, "hello", "", ""},
	{"a path that no rule has", `curl -sS -o /dev/null -w '%{http_code}' http://plain.test/ -d x`, "403", "", "denied POST plain.test"},
	{"a name that no rule has", `getent hosts evil.test || echo none`, "none", "", "denied evil.test"},
	{"an address that no rule has", `curl -sSk -m 5 https://203.0.113.9/ -o /dev/null -w '%{http_code}'`, "403", "", "203.0.113.9"},
	{"metadata", `curl -sS -m 5 http://169.254.169.254/ -o /dev/null -w '%{http_code}'`, "403", "", ""},
	{"ssh", `ssh -o BatchMode=yes -o StrictHostKeyChecking=no git@example.test 2>&1 | grep -o "is not carried" | head -n 1`, "is not carried", "", "ssh to example.test:22 is not carried"},
	{"DNS over TCP", `python3 -c '
import socket, struct
q = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x04test\x00\x00\x01\x00\x01"
s = socket.create_connection(("9.9.9.9", 53)); s.sendall(struct.pack("!H", len(q)) + q)
print(socket.inet_ntoa(s.recv(512)[-4:])[:6])'`, "198.18", "", ""},
	{"a port that no rule lists", `(exec 3<>/dev/tcp/example.test/8443) 2>&1 | grep -o "Connection refused" | head -n 1; echo over`, "over", "Connection refused\nover", ""},
	{"a datagram", `python3 -c '
import socket
s = socket.socket(2, 2); s.connect(("198.18.1.0", 443)); s.send(b"x")
try: s.recv(1)
except OSError as e: print(e.strerror)'`, "Connection refused", "", ""},

	{"a server of its own", strings.ReplaceAll(serveScript, "%s", "8000"), "200", "", ""},
	{"at a low port", strings.ReplaceAll(serveScript, "%s", "81"), "200", "", ""},
	{"at the port of a rule", bindScript + `127.0.0.1 443`, "mine", "Address already in use", ""},
	{"everywhere at the port of a rule", bindScript + `0.0.0.0 443`, "mine", "Address already in use", ""},
	{"at a name's own address", bindScript + `198.18.1.0 443`, "mine", "Address already in use", ""},
	{"at the address of a rule", bindScript + `203.0.113.7 7777`, "mine", "Address already in use", ""},
	{"the DNS server's", `python3 -c '
import socket
s = socket.socket(2, 2); s.setsockopt(1, 2, 1); s.setsockopt(1, 15, 1)
try: s.bind(("127.0.0.1", 53)); print("mine")
except OSError as e: print(e.strerror)'`, "Address already in use", "", ""},
	{"loopback is nobody's way out", `(exec 3<>/dev/tcp/127.0.0.1/7777; echo hello >&3; timeout 5 head -n 1 <&3) 2>/dev/null; echo over`, "over", "", ""},
	{"a proxy on loopback", `curl -sS -x http://127.0.0.1:3128 -o /dev/null -w '%{http_code}' https://example.test/status?code=204 2>/dev/null; echo`, "000", "204", ""},
}

// What a node without steering cannot do is refused, with what to do about it.
func TestS21_PortsWithoutSteering(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{
		NoLab: true, Config: map[string]any{"interception": "ports", "access": []map[string]any{{
			"groups": []string{strconv.Itoa(socketGID)}, "policies": []string{"own", "*"}, "weaken": []string{"open_network"}, "publish": true, "node_ports": []string{"*"},
		}}},
		Policy: map[string]string{"first": "egress_rules: [\"GET a.test/**\"]\n", "every": "egress_rules: [\"GET a.test:*/**\"]\n", "open": "weaken: [open_network]\n"},
	})
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a rule for each port": {[]string{"--policy", "every"}, `cannot enforce the rule "GET a.test:*/**"`},
		"the open network":     {[]string{"--policy", "open"}, "cannot enforce weaken: [open_network]"},
		// The proxy has no password: whoever reached it would have the jail's credentials.
		"S21 the proxy, published":         {[]string{"--publish", "3128", "--allow", "GET a.test/**"}, "port 3128 of the jail is the proxy's own"},
		"S21 the port of a rule":           {[]string{"--publish", "8443", "--allow", "GET a.test:8443/**"}, "port 8443 of the jail is the proxy's own"},
		"the port of a rule as the node's": {[]string{"--node-port", "443", "--allow", "GET a.test/**"}, "port 443 of the jail is the proxy's own"},
	} {
		o := n.Exec(t, append(c.args, "--", "true")...)
		if o.Exit != 125 || !strings.Contains(o.Stderr, c.want) || !strings.Contains(o.Stderr, "sk_lookup") {
			t.Errorf("%s: exit %d\n%s", name, o.Exit, o.Stderr)
		}
	}
	n.policies(t, map[string]string{"one": "egress_rules: [\"GET a.test/**\"]\n", "same": "egress_rules: [\"GET b.test/**\"]\n", "more": "egress_rules: [\"GET a.test:8443/**\"]\n"})
	id := n.create(t, "--policy", "one")
	if o := n.apply(t, Alice, id, "more", "--yes"); o.Exit == 0 || !strings.Contains(o.Stderr, "port 8443 was named by no rule when this jail was made") {
		t.Errorf("a port for a live jail: exit %d\n%s", o.Exit, o.Stderr)
	}
	n.apply(t, Alice, id, "same", "--yes").Want(t, 0)
	o := n.Run(t, Ctl{UID: 0, Args: []string{"doctor"}})
	for _, want := range []string{"observed  needs steering", "interception: ports", "attempts at other ports are refused without a record"} {
		if !strings.Contains(o.Stdout, want) {
			t.Errorf("doctor does not say %q:\n%s", want, o.Stdout)
		}
	}
}

// echoServer is a server of the node's that answers with what it is sent.
func echoServer(t testing.TB) string {
	t.Helper()
	return lab.Serve(t, "tcp", "127.0.0.1:0", func(c net.Conn) { io.Copy(c, c) }).String()
}
