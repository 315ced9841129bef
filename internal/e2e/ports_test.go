package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/omnijail/omnijail/internal/lab"
)

// freePort is a port of the node that nothing listens on.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// socketsOn are the sockets of the node with a local port: address, state and the
// uid that made each, as the kernel says.
func socketsOn(t testing.TB, port int) (out []string) {
	t.Helper()
	for _, table := range []string{"tcp", "tcp6"} {
		b, err := os.ReadFile("/proc/net/" + table)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) > 7 && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) {
				addr, _, _ := strings.Cut(f[1], ":")
				out = append(out, addr+" "+f[3]+" "+f[7])
			}
		}
	}
	return out
}

const echo = `import socketserver as s
class H(s.StreamRequestHandler):
    def handle(self):
        for line in self.rfile: self.wfile.write(b"jail: " + line)
s.ThreadingTCPServer.allow_reuse_address = True
s.ThreadingTCPServer(("127.0.0.1", PORT), H).serve_forever()`

// converse sends a line, closes its half and returns all that comes back.
func converse(port int, line string) (string, error) {
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return "", err
	}
	defer c.Close()
	if _, err := io.WriteString(c, line); err != nil {
		return "", err
	}
	c.(*net.TCPConn).CloseWrite()
	b, err := io.ReadAll(c)
	return string(b), err
}

// A published port is bound by the caller's own right: on loopback alone, by a
// process of the caller's, and gone with the jail.
func TestS21_APublishedPortIsTheCallers(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	port := freePort(t)
	id := n.create(t, "--publish", strconv.Itoa(port), "--", "python3", "-c", strings.ReplaceAll(echo, "PORT", strconv.Itoa(port)))
	until(t, "the server in the jail answers", func() bool {
		got, err := converse(port, "hello\n")
		return err == nil && got == "jail: hello\n"
	})
	for i := range 20 { // more than the gate has sockets in stock
		want := fmt.Sprintf("jail: %d\n", i)
		if got, err := converse(port, strconv.Itoa(i)+"\n"); err != nil || got != want {
			t.Errorf("connection %d: %q, %v", i, got, err)
		}
	}
	listening := 0
	for _, s := range socketsOn(t, port) {
		addr, rest, _ := strings.Cut(s, " ")
		if state, uid, _ := strings.Cut(rest, " "); state == "0A" {
			listening++
			if uid != "2001" || addr != "0100007F" && addr != "00000000000000000000000001000000" {
				t.Errorf("listens: %s", s)
			}
		}
	}
	if listening != 2 {
		t.Errorf("listening: %q", socketsOn(t, port))
	}
	n.Run(t, Ctl{UID: Alice, Args: []string{"rm", id}}).Want(t, 0)
	if _, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
		t.Error("somebody listens when rm has returned")
	}
	n.create(t, "--publish", strconv.Itoa(port))
	if o := n.Run(t, Ctl{UID: Alice, Args: []string{"ls"}}); strings.Contains(o.Stdout, id) {
		t.Errorf("a removed jail is listed: %s", o.Stdout)
	}
}

func TestS21_PortsThatAreNotTheCallers(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true, Config: accessOf(map[string]any{"publish": true, "node_ports": []string{"*"}})})
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	mine, reached := strconv.Itoa(freePort(t)), strconv.Itoa(freePort(t))
	n.create(t, "--publish", mine)
	n.create(t, "--node-port", reached)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"a privileged port":           {[]string{"--publish", "80"}, "you may not bind it yourself"},
		"another privileged port":     {[]string{"--publish", "443"}, "you may not bind it yourself"},
		"a port that somebody has":    {[]string{"--publish", strconv.Itoa(busy.Addr().(*net.TCPAddr).Port)}, "another program listens there"},
		"a port that a jail has":      {[]string{"--publish", mine}, "a jail has it published already"},
		"a port that a jail reaches":  {[]string{"--publish", reached}, "a jail reaches it"},
		"a jail's port as the node's": {[]string{"--node-port", mine}, "is a jail's, published"},
		"a port in both directions":   {[]string{"--publish", reached, "--node-port", reached}, "both published and a node port"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append(append([]string{"exec"}, c.args...), "--", "true")
			if o := n.Run(t, Ctl{UID: Bob, Args: args}).Want(t, 125); !strings.Contains(o.Stderr, c.says) {
				t.Errorf("it says: %s", o.Stderr)
			}
		})
	}
}

func TestS21_AccessDecidesOverPorts(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true, Config: accessOf(map[string]any{"node_ports": []int{5432}}), Policy: map[string]string{"closed": "caller: [cwd]\n"}})
	for _, args := range [][]string{{"--publish", "18080"}, {"--node-port", "5433"}, {"--policy", "closed", "--node-port", "5432"}} {
		o := n.Exec(t, append(args, "--", "true")...).Want(t, 125)
		if !strings.Contains(o.Stderr, "your access does not") && !strings.Contains(o.Stderr, "lets a request set only") {
			t.Errorf("%q says: %s", args, o.Stderr)
		}
	}
	n.Exec(t, "--node-port", "5432", "--", "true").Want(t, 0)
}

// A port of the node is reached as the caller, whom the node's own firewall and
// servers see; what was not named is not reached.
func TestS21_APortOfTheNodeIsReachedAsTheCaller(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true, Config: accessOf(map[string]any{"node_ports": []string{"*"}})})
	peers := make(chan int, 16)
	at := func() string {
		a := lab.Serve(t, "tcp4", "127.0.0.1:0", func(c net.Conn) {
			line, _ := bufio.NewReader(c).ReadString('\n')
			peers <- c.RemoteAddr().(*net.TCPAddr).Port
			io.WriteString(c, "node: "+line)
			bufio.NewReader(c).ReadString(0) // until the test has looked
		})
		return strconv.Itoa(a.(*net.TCPAddr).Port)
	}
	named, other := at(), at()
	client := n.launch(t, Ctl{UID: Alice, Args: []string{"exec", "--node-port", named, "--", "python3", "-u", "-c",
		"import socket, sys; c = socket.create_connection(('127.0.0.1', " + named + ")); c.sendall(b'hello\\n'); print(c.recv(99).decode()); sys.stdin.read()"}})
	client.says(t, "node: hello")
	peer := <-peers
	var uids []string
	for _, s := range socketsOn(t, peer) {
		uids = append(uids, s[strings.LastIndex(s, " ")+1:])
	}
	if len(uids) != 1 || uids[0] != "2001" {
		t.Errorf("the node's server sees a peer of %q", uids)
	}
	client.stdin.Close()
	client.finish(t).Want(t, 0)
	o := n.Exec(t, "--node-port", named, "--", "python3", "-c", "import socket; socket.create_connection(('127.0.0.1', "+other+"), 5)")
	if o.Exit == 0 || !strings.Contains(o.Stderr, "Connection refused") {
		t.Errorf("a port that was not named: %+v", o)
	}
}

// Nothing that listens for a jail outlives the daemon.
func TestS21_PortsEndWithTheDaemon(t *testing.T) {
	t.Parallel()
	n := NewNode(t, Options{NoLab: true})
	port := freePort(t)
	n.create(t, "--publish", strconv.Itoa(port), "--tty", "--", "sh", "-i")
	if _, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err != nil {
		t.Fatal(err)
	}
	n.Kill(t)
	until(t, "nobody listens any more", func() bool {
		_, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		return err != nil
	})
	n.Start(t)
	n.Exec(t, "--publish", strconv.Itoa(port), "--", "true").Want(t, 0)
}
