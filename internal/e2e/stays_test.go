package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// startRaw starts a command as alice with no client's care and returns the
// connection, whose every further byte is the test's to read or to leave, and
// what the command writes.
func startRaw(t *testing.T, n *Node, argv ...string) (conn *net.UnixConn, stdout *os.File) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"argv": argv, "cwd": n.Project(t, Alice), "context": map[string]string{"PATH": "/usr/bin:/bin"}})
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	stdout, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	asUser(t, Alice, func() {
		if conn, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: n.Socket, Net: "unix"}); err != nil {
			return
		}
		conn.SetDeadline(time.Now().Add(hang))
		fmt.Fprintf(conn, "POST /v1/exec HTTP/1.1\r\nHost: omnijail\r\nConnection: Upgrade\r\nUpgrade: omnijail-exec\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		head := make([]byte, 0, 512)
		for b := make([]byte, 1); err == nil && (len(head) < 4 || string(head[len(head)-4:]) != "\r\n\r\n"); head = append(head, b[0]) {
			_, err = io.ReadFull(conn, b)
		}
		if err == nil {
			fd := int(null.Fd())
			_, _, err = conn.WriteMsgUnix([]byte{0}, unix.UnixRights(fd, int(theirs.Fd()), fd), nil)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); stdout.Close() })
	return conn, stdout
}

// A client that stays after the end of its command keeps nothing of the daemon's:
// it is hung up on, and the daemon stops when it is told to.
func TestS17_AClientThatDoesNotHangUp(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	conn, _ := startRaw(t, n, "true")
	if _, err := io.ReadAll(conn); err != nil {
		t.Errorf("after the exit: %v", err)
	}
	n.Stop(t)
}

// A client that does not read while its jail is refused more than the socket
// holds loses denials; the exec ends, and so does the daemon.
func TestS17_AClientThatDoesNotRead(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	conn, stdout := startRaw(t, n, "python3", "-c", `
import socket
for i in range(200):
    try: socket.getaddrinfo("n%d.%s.test" % (i, "x" * 60), 443)
    except OSError: pass
for i in range(600):
    try:
        with socket.create_connection(("192.0.%d.%d" % (2 + i // 250, 1 + i % 250), 80), 5) as s:
            s.sendall(b"GET /%s HTTP/1.1\r\nHost: a.test\r\n\r\n" % (b"x" * 200))
            s.recv(1)
    except OSError: pass`)
	if _, err := io.ReadAll(stdout); err != nil { // until the command has ended
		t.Fatal(err)
	}
	n.Stop(t)
	if b, err := io.ReadAll(conn); err != nil || bytes.Contains(b, []byte(`{"exit":`)) {
		t.Errorf("the socket held all %d bytes, so that nothing was tried: %v", len(b), err)
	}
}
