package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/pty"
)

// asUser runs f on a thread that is the user, in the socket's group unless it is
// the outsider. f must not end the test.
func asUser(t testing.TB, uid uint32, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		groups := []uint32{socketGID}
		n := uintptr(1)
		if uid == Outsider {
			n = 0
		}
		_, _, e1 := unix.RawSyscall(unix.SYS_SETGROUPS, n, uintptr(unsafe.Pointer(&groups[0])), 0)
		_, _, e2 := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(uid), uintptr(uid), uintptr(uid))
		_, _, e3 := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid))
		if e := max(e1, e2, e3); e != 0 {
			done <- e
			return
		}
		f()
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// grope uses each of its descriptors as a way out and says what it got.
const grope = `
import os, sys, socket
def got(*a): os.write(1, ("GOT %s\n" % (a,)).encode())
for fd in (0, 1, 2):
    for way in ("fchdir", "openat", "reopen", "truncate", "connect", "ioctl", "fdinfo"):
        try:
            if way == "fchdir":
                os.fchdir(fd); got(fd, way, os.listdir("../.."))
            elif way == "openat":
                got(fd, way, os.open("marker", os.O_RDONLY, dir_fd=fd))
            elif way == "reopen":
                f = os.open("/proc/self/fd/%d" % fd, os.O_RDWR | os.O_NONBLOCK)
                b = os.read(f, 64)
                if b"outside" in b: got(fd, way, b)
            elif way == "truncate":
                f = os.open("/proc/self/fd/%d" % fd, os.O_WRONLY); os.ftruncate(f, 0); got(fd, way)
            elif way == "connect":
                s = socket.socket(fileno=os.dup(fd))
                if s.family != socket.AF_UNIX: got(fd, way, s)
                s.connect(sys.argv[1]); got(fd, way)
            elif way == "ioctl":
                import termios; termios.tcgetattr(fd); got(fd, way)
        except OSError: pass
        except Exception as e:
            if type(e).__name__ != "error": got(fd, way, e)
`

func TestS02_DescriptorsOfAnOwnClient(t *testing.T) {
	n := NewNode(t, Options{NoLab: true})
	dir := n.Workspace(t, Alice, map[string]string{"marker": "outside", "granted": "outside"})
	out := n.Workspace(t, Alice, map[string]string{"marker": "outside", "log": "outside"})
	open := func(path string, flags int) *os.File {
		t.Helper()
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		return keep(t, fd)
	}
	made := func(fd int, err error) *os.File {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return keep(t, fd)
	}
	ours := made(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0))
	if err := unix.Connect(int(ours.Fd()), &unix.SockaddrUnix{Name: n.Socket}); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	defer listener.Close()
	_, tty := terminalPair(t)
	kinds := map[string]*os.File{
		"directory": open(out, unix.O_RDONLY), "directory, as a name": open(out, unix.O_PATH), "file, as a name": open(out+"/log", unix.O_PATH),
		"append-only log": open(out+"/log", unix.O_WRONLY|unix.O_APPEND), "file outside the grants": open(out+"/log", unix.O_RDONLY),
		"file of a read-only grant": open(dir+"/granted", unix.O_RDONLY), "the same for writing": open(dir+"/granted", unix.O_RDWR),
		"connection to omnijaild": ours, "INET socket": made(unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)), "INET listener": listener,
		"unconnected socket": made(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)), "vsock": made(unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)),
		"terminal": tty, "kmsg": open("/dev/kmsg", unix.O_RDONLY), "fuse": open("/dev/fuse", unix.O_RDWR),
		"memfd": made(unix.MemfdCreate("m", 0)), "pidfd": made(unix.PidfdOpen(os.Getpid(), 0)), "epoll": made(unix.EpollCreate1(0)),
		"namespace": open("/proc/self/ns/net", unix.O_RDONLY), "proc": open("/proc/self/status", unix.O_RDONLY), "mem": open("/proc/self/mem", unix.O_RDWR),
	}
	null := open("/dev/null", unix.O_RDWR)
	for name, f := range kinds {
		for slot := range 3 {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			stdio := [3]*os.File{null, w, w}
			stdio[slot] = f
			var exit *api.Exit
			asUser(t, Alice, func() {
				exit = drive(t, n, api.ExecRequest{Argv: []string{"python3", "-c", grope, n.Socket}, Cwd: dir, Policy: json.RawMessage(`"offline"`)}, stdio)
			})
			w.Close()
			said, _ := io.ReadAll(r)
			r.Close()
			if bytes.Contains(said, []byte("GOT")) {
				t.Errorf("%s in slot %d: %s", name, slot, said)
			}
			if exit == nil || exit.Code != 125 || !strings.Contains(exit.Reason+exit.Fix, "pipe it instead") {
				t.Errorf("%s in slot %d was not refused: %+v", name, slot, exit)
			}
		}
	}
	for _, p := range []string{dir + "/granted", out + "/log"} {
		if b, _ := os.ReadFile(p); string(b) != "outside" {
			t.Errorf("%s is now %q", p, b)
		}
	}
}

// drive runs one exec to its end and returns how it ended.
func drive(t testing.TB, n *Node, req api.ExecRequest, stdio [3]*os.File) *api.Exit {
	c := api.Client{Socket: n.Socket}
	req.Context = map[string]string{"PATH": "/usr/bin:/bin"}
	s, err := c.Exec(context.Background(), req, stdio, nil)
	if err != nil {
		t.Errorf("exec: %v", err)
		return nil
	}
	defer s.Close()
	for {
		ev, _, err := s.Next()
		if err != nil {
			t.Errorf("exec: %v", err)
			return nil
		}
		if ev.Exit != nil {
			return ev.Exit
		}
	}
}

func keep(t testing.TB, fd int) *os.File {
	f := os.NewFile(uintptr(fd), "fd")
	t.Cleanup(func() { f.Close() })
	return f
}

// terminalPair is a user's terminal: the emulator's end and the programs' end.
func terminalPair(t testing.TB) (master, tty *os.File) {
	t.Helper()
	d, err := pty.NewDevpts()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	if master, tty, err = d.Terminal(Alice); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close(); tty.Close() })
	return master, tty
}
