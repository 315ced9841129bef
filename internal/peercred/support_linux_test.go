package peercred

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// python is the node's own: every uid may run it.
const python = "/usr/bin/python3"

// client is a Python program that connects to its argument, changes its root if
// CHROOT says so, reports, and waits for its standard input to end.
const client = `
import os, socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
if "CHROOT" in os.environ: os.chroot(os.environ["CHROOT"])
print("connected", flush=True); sys.stdin.read()`

// listen makes a socket that every uid may connect to.
func listen(t *testing.T) (*net.UnixListener, string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "peer")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	sock := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: sock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(sock, 0o666); err != nil {
		t.Fatal(err)
	}
	return l, sock
}

// peer starts the client under wrapper and returns the accepted connection. end
// ends the client.
func peer(t *testing.T, wrapper ...string) (conn *net.UnixConn, end func()) {
	t.Helper()
	l, sock := listen(t)
	argv := append(append([]string(nil), wrapper...), python, "-c", client, sock)
	cmd := exec.Command(argv[0], argv[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errOut strings.Builder
	cmd.Stderr = &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			in.Close()
			io.Copy(io.Discard, out)
			cmd.Wait()
		}
	}
	t.Cleanup(end)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "connected\n" {
		end()
		t.Fatalf("client under %q: %q, %v, %s", wrapper, line, err, errOut.String())
	}
	conn, err = l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn, end
}

func caller(t *testing.T, conn *net.UnixConn) Caller {
	t.Helper()
	c, err := From(conn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func myself(t *testing.T) Self {
	t.Helper()
	s, err := Myself()
	if err != nil {
		t.Fatal(err)
	}
	return s
}
