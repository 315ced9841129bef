package api_test

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/api"
)

// What a program in a workspace can plant is a socket of its user's.
func TestS15_AServerThatIsNotRootReceivesNothing(t *testing.T) {
	dir := t.TempDir()
	l := listenAs(t, 1000, dir)
	received := make(chan int, 1)
	go func() {
		conn, err := l.AcceptUnix()
		if err != nil {
			received <- -1
			return
		}
		defer conn.Close()
		b, oob := make([]byte, 1), make([]byte, 1024)
		n, oobn, _, _, _ := conn.ReadMsgUnix(b, oob)
		received <- n + oobn
	}()
	secret, err := os.Open("/etc/hostname")
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	c := &api.Client{Socket: l.Addr().String()}
	_, err = c.Exec(bounded(t), api.ExecRequest{Argv: []string{"true"}, SecretFDs: []string{"X"}},
		[3]*os.File{os.Stdin, os.Stdout, os.Stderr}, []*os.File{secret})
	if err == nil || !strings.Contains(err.Error(), "it runs as uid 1000, not as root") {
		t.Errorf("got %v", err)
	}
	if n := <-received; n != 0 {
		t.Errorf("the server received %d bytes", n)
	}
}

// listenAs listens as another user: the kernel notes who called listen, and a
// thread may be somebody of its own. The thread ends with its goroutine.
func listenAs(t *testing.T, uid int, dir string) *net.UnixListener {
	t.Helper()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, uid, uid); err != nil {
		t.Fatal(err)
	}
	var l *net.UnixListener
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		_, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0))
		var err error
		if errno != 0 {
			err = errno
		} else {
			l, err = net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s")})
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}
