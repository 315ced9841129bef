package caller

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// listenElsewhere has another process listen at sock and returns a connection.
func listenElsewhere(t *testing.T, sock string) int {
	t.Helper()
	cmd := exec.Command("/usr/bin/python3", "-c", `
import socket, sys
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()
print("ready", flush=True)
sys.stdin.read()`, sock)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	fd := mustFD(t)(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: sock}); err != nil {
		t.Fatal(err)
	}
	return fd
}

func TestS02_TheHandOverHasOneShape(t *testing.T) {
	dir := playground(t)
	null := mustFD(t)(unix.Open("/dev/null", unix.O_RDWR, 0))
	c := newChild(t)
	for name, tt := range map[string]struct {
		text string
		fds  int
		ok   bool
	}{
		"right":                  {"\x00", 3, true},
		"too few":                {"\x00", 2, false},
		"too many":               {"\x00", 4, false},
		"far too many":           {"\x00", 200, false},
		"another byte":           {"\x01", 3, false},
		"more in the message":    {"\x00x", 3, false},
		"a line in the message":  {"{}\n", 3, false},
		"nothing but one secret": {"\x00", 1, false},
	} {
		fds := make([]int, tt.fds)
		for i := range fds {
			fds[i] = null
		}
		client, daemon := streamPair(t)
		pass(t, client, tt.text, fds...)
		r := request(dir)
		r.Stdio = true
		o, err := Open(context.Background(), Options{Child: c, Conn: daemon, Request: r})
		if tt.ok {
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			o.Close()
			continue
		}
		if err == nil {
			o.Close()
			t.Errorf("%s: accepted", name)
			continue
		}
		refused(t, err, "stdio", "expected one zero byte with 3 descriptors")
	}
}

// What the client sends behind the hand-over is a control line for the daemon.
func TestControlLinesAreLeftForTheDaemon(t *testing.T) {
	dir := playground(t)
	null := mustFD(t)(unix.Open("/dev/null", unix.O_RDWR, 0))
	client, daemon := streamPair(t)
	pass(t, client, "\x00", null, null, null)
	if _, err := client.WriteString("{\"signal\":15}\n"); err != nil {
		t.Fatal(err)
	}
	r := request(dir)
	r.Stdio = true
	o, err := Open(context.Background(), Options{Child: newChild(t), Conn: daemon, Request: r})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	got := make([]byte, 64)
	n, err := unix.Read(int(daemon.Fd()), got)
	if err != nil || string(got[:n]) != "{\"signal\":15}\n" {
		t.Fatalf("the daemon reads %q, %v", got[:max(n, 0)], err)
	}
}

func TestS12_SecretsComeAsMemfds(t *testing.T) {
	dir := playground(t)
	fd := mustFD(t)
	null := fd(unix.Open("/dev/null", unix.O_RDWR, 0))
	memfd := fd(unix.MemfdCreate("secret", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING))
	r := request(dir)
	r.SecretFDs = []string{"GH_TOKEN"}
	c := newChild(t)
	o, err := openStdio(t, c, r, nil, null, null, null, memfd)
	if err != nil || len(o.Secrets) != 1 {
		t.Fatalf("memfd: %v", err)
	}
	file, err := os.Open(write(t, dir, "w/file", 0o644, "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, other := range []int{null, int(file.Fd())} {
		_, err = openStdio(t, c, r, nil, null, null, null, other)
		refused(t, err, "secret_fd", "GH_TOKEN")
	}
}

// The daemon's deadlines on the connection go on to hold while a scout has it and
// afterwards: a description that blocks would make them mean nothing.
func TestAScoutLeavesTheConnectionNonblocking(t *testing.T) {
	dir := playground(t)
	null := mustFD(t)(unix.Open("/dev/null", unix.O_RDWR, 0))
	client, daemon := streamPair(t)
	pass(t, client, "\x00", null, null, null)
	r := request(dir)
	r.Stdio = true
	o, err := Open(context.Background(), Options{Child: newChild(t), Conn: daemon, Request: r})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	conn, err := daemon.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Control(func(fd uintptr) {
		if flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK == 0 {
			t.Errorf("the connection's flags are %#x, %v", flags, err)
		}
	}); err != nil {
		t.Fatal(err)
	}
}
