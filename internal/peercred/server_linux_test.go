package peercred

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func dial(t *testing.T, sock string) *net.UnixConn {
	t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: sock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestS15_TheServerAndItsPathMustBeRoots(t *testing.T) {
	_, sock := listen(t)
	conn := dial(t, sock)
	dir := filepath.Dir(sock)
	link := filepath.Join(dir, "link")
	if err := os.Symlink("s", link); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{sock, link} {
		if err := CheckServer(conn, p); err != nil {
			t.Fatalf("%s: %v", p, err)
		}
	}
	for name, tt := range map[string]struct {
		spoil func() error
		says  string
	}{
		"a directory that others write": {func() error { return os.Chmod(dir, 0o777) }, "can be written by others"},
		"a group's directory":           {func() error { return os.Chmod(dir, 0o775) }, "can be written by others"},
		"another's directory":           {func() error { return os.Chown(dir, 1000, 0) }, "not root's"},
		"another's socket":              {func() error { return os.Chown(sock, 1000, 0) }, "not root's"},
	} {
		if err := tt.spoil(); err != nil {
			t.Fatal(err)
		}
		if err := CheckServer(conn, sock); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", name, err, tt.says)
		}
		os.Chmod(dir, 0o755)
		os.Chown(dir, 0, 0)
		os.Chown(sock, 0, 0)
	}
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if err := CheckServer(conn, sock); err != nil {
		t.Errorf("a sticky directory: %v", err)
	}
	for p, says := range map[string]string{"s": "not an absolute path", dir: "not a socket", sock + "/x": "not a directory"} {
		if err := CheckServer(conn, p); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", p, err, says)
		}
	}
}

// A link of another user's decides where the path leads, whoever owns its end.
func TestS15_AnothersLinkIsNotFollowed(t *testing.T) {
	_, sock := listen(t)
	planted := filepath.Join(t.TempDir(), "planted")
	if err := os.Symlink(filepath.Dir(sock), planted); err != nil {
		t.Fatal(err)
	}
	if err := os.Lchown(planted, 1000, 1000); err != nil {
		t.Fatal(err)
	}
	err := CheckServer(dial(t, sock), planted+"/s")
	if err == nil || !strings.Contains(err.Error(), planted+" is not root's") {
		t.Fatalf("got %v", err)
	}
}

func TestS15_AnotherUsersServerGetsNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir())
	os.Chmod(filepath.Dir(dir), 0o755)
	os.Chown(dir, 1000, 1000)
	sock := filepath.Join(dir, "s")
	cmd := exec.Command("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", python, "-c", `
import socket, sys
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print("ready", flush=True)
c, _ = s.accept(); sys.stderr.buffer.write(b"%d bytes" % len(c.recv(1)))`, sock)
	var got strings.Builder
	cmd.Stderr = &got
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	conn := dial(t, sock)
	if err := CheckServer(conn, sock); err == nil || !strings.Contains(err.Error(), "uid 1000, not as root") {
		t.Errorf("got %v", err)
	}
	conn.Close()
	if err := cmd.Wait(); err != nil || got.String() != "0 bytes" {
		t.Errorf("the fake server got %q, %v", got.String(), err)
	}
}
