package caller

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// pass sends the client's message: bytes with descriptors.
func pass(t testing.TB, client *os.File, text string, fds ...int) {
	t.Helper()
	if err := unix.Sendmsg(int(client.Fd()), []byte(text), unix.UnixRights(fds...), nil, 0); err != nil {
		t.Fatal(err)
	}
}

// openStdio runs a scout that receives fds as stdin, stdout and stderr and more.
func openStdio(t testing.TB, c Child, r jail.OpenRequest, listeners []string, fds ...int) (*Opened, error) {
	t.Helper()
	client, daemon := streamPair(t)
	pass(t, client, "\x00", fds...)
	r.Stdio = true
	o, err := Open(context.Background(), Options{Child: c, Conn: daemon, Listeners: listeners, Request: r})
	if err == nil {
		t.Cleanup(func() { o.Close() })
	}
	return o, err
}

// kinds of descriptors and the slots that take them: "i" stdin, "o" stdout and
// stderr, "io" all, "" none.
type stdioKind struct {
	name  string
	fd    int
	slots string
	kind  jail.StdioKind
}

func mustFD(t testing.TB) func(fd int, err error) int {
	return func(fd int, err error) int {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
}

func files(t testing.TB, dir string) []stdioKind {
	fd := mustFD(t)
	w := dir + "/w"
	granted := write(t, w, "log", 0o644, "x")
	outside := write(t, dir, "outside", 0o644, "x")
	hidden := write(t, w, ".env", 0o644, "x")
	protected := write(t, w, ".git/config", 0o644, "x")
	deleted := write(t, w, "deleted", 0o644, "x")
	readonly := write(t, dir, "ro/file", 0o644, "x")
	list := []stdioKind{
		{"granted file for reading", fd(unix.Open(granted, unix.O_RDONLY, 0)), "i", jail.StdioFile},
		{"granted file for appending", fd(unix.Open(granted, unix.O_WRONLY|unix.O_APPEND, 0)), "o", jail.StdioFile},
		{"granted file for both", fd(unix.Open(granted, unix.O_RDWR, 0)), "io", jail.StdioFile},
		{"file outside", fd(unix.Open(outside, unix.O_RDWR, 0)), "", ""},
		{"file outside for appending", fd(unix.Open(outside, unix.O_WRONLY|unix.O_APPEND, 0)), "", ""},
		{"hidden file", fd(unix.Open(hidden, unix.O_RDWR, 0)), "", ""},
		{"protected file for writing", fd(unix.Open(protected, unix.O_RDWR, 0)), "", ""},
		{"protected file for reading", fd(unix.Open(protected, unix.O_RDONLY, 0)), "", ""},
		{"deleted file", fd(unix.Open(deleted, unix.O_RDWR, 0)), "", ""},
		{"file of a read-only grant for writing", fd(unix.Open(readonly, unix.O_RDWR, 0)), "", ""},
		{"file of a read-only grant", fd(unix.Open(readonly, unix.O_RDONLY, 0)), "", ""},
		{"path-only file", fd(unix.Open(granted, unix.O_PATH, 0)), "", ""},
		{"path-only directory", fd(unix.Open(w, unix.O_PATH, 0)), "", ""},
		{"directory", fd(unix.Open(w, unix.O_RDONLY|unix.O_DIRECTORY, 0)), "", ""},
		{"file of proc", fd(unix.Open("/proc/self/comm", unix.O_RDWR, 0)), "", ""},
	}
	os.Remove(deleted)
	return list
}

func devices(t testing.TB) []stdioKind {
	fd := mustFD(t)
	master := fd(unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY, 0))
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	slave, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY)
	if errno != 0 {
		t.Fatal(errno)
	}
	fd(int(slave), nil)
	return []stdioKind{
		{"/dev/null", fd(unix.Open("/dev/null", unix.O_RDWR, 0)), "io", jail.StdioDevice},
		{"/dev/urandom", fd(unix.Open("/dev/urandom", unix.O_RDONLY, 0)), "i", jail.StdioDevice},
		{"/dev/full", fd(unix.Open("/dev/full", unix.O_WRONLY, 0)), "o", jail.StdioDevice},
		{"/dev/kmsg", fd(unix.Open("/dev/kmsg", unix.O_RDWR, 0)), "", ""},
		{"terminal", int(slave), "", ""},
		{"terminal's master", master, "", ""},
	}
}

func anonymous(t testing.TB, dir string) []stdioKind {
	fd := mustFD(t)
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(dir+"/fifo", 0o666); err != nil {
		t.Fatal(err)
	}
	return []stdioKind{
		{"read end", fd(pipe[0], nil), "i", jail.StdioPipe},
		{"write end", fd(pipe[1], nil), "o", jail.StdioPipe},
		{"named FIFO", fd(unix.Open(dir+"/fifo", unix.O_RDWR, 0)), "io", jail.StdioPipe},
		{"memfd", fd(unix.MemfdCreate("m", unix.MFD_CLOEXEC)), "", ""},
		{"pidfd", fd(unix.PidfdOpen(os.Getpid(), 0)), "", ""},
		{"eventfd", fd(unix.Eventfd(0, unix.EFD_CLOEXEC)), "", ""},
		{"epoll", fd(unix.EpollCreate1(unix.EPOLL_CLOEXEC)), "", ""},
		{"namespace", fd(unix.Open("/proc/self/ns/net", unix.O_RDONLY, 0)), "", ""},
		{"mount", fd(unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.O_CLOEXEC)), "", ""},
	}
}

func sockets(t testing.TB, dir string) []stdioKind {
	fd := mustFD(t)
	pair := func(kind int) int {
		p, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
		if err != nil {
			t.Fatal(err)
		}
		fd(p[1], nil)
		return fd(p[0], nil)
	}
	connected := func(name string) int {
		l := fd(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0))
		if err := unix.Bind(l, &unix.SockaddrUnix{Name: filepath.Join(dir, name)}); err != nil {
			t.Fatal(err)
		}
		if err := unix.Listen(l, 1); err != nil {
			t.Fatal(err)
		}
		c := fd(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0))
		if err := unix.Connect(c, &unix.SockaddrUnix{Name: filepath.Join(dir, name)}); err != nil {
			t.Fatal(err)
		}
		return c
	}
	listening := fd(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0))
	if err := unix.Bind(listening, &unix.SockaddrUnix{Name: dir + "/listening"}); err != nil {
		t.Fatal(err)
	}
	unix.Listen(listening, 1)
	return []stdioKind{
		{"unconnected socket", fd(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)), "", ""},
		{"listening socket", listening, "", ""},
		{"datagram pair", pair(unix.SOCK_DGRAM), "", ""},
		{"packet pair", pair(unix.SOCK_SEQPACKET), "", ""},
		{"INET socket", inet(t), "", ""},
		{"netlink socket", fd(unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, 0)), "", ""},
		// These lead to the parent of the scout, which stands for the daemon.
		{"pair with the daemon", pair(unix.SOCK_STREAM), "", ""},
		{"connection to the daemon", connected("ours"), "", ""},
	}
}

func inet(t testing.TB) int {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	f, err := c.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return int(f.Fd())
}

func TestS02_WhatMayBecomeStdio(t *testing.T) {
	dir := playground(t)
	r := request(dir)
	kinds := slices.Concat(files(t, dir), devices(t), anonymous(t, dir), sockets(t, dir))
	r.View.Visible = []string{".git"}
	r.View.Grants = append(r.View.Grants, jail.Grant{Path: dir + "/ro"})
	null := mustFD(t)(unix.Open("/dev/null", unix.O_RDWR, 0))
	c := newChild(t)
	for _, k := range kinds {
		for slot := range 3 {
			fds := []int{null, null, null}
			fds[slot] = k.fd
			o, err := openStdio(t, c, r, nil, fds...)
			if want := k.slots == "io" || k.slots == "i" && slot == 0 || k.slots == "o" && slot > 0; want {
				if err != nil || o.Reply.Stdio[slot] != k.kind {
					t.Errorf("%s in slot %d: %v, want %q", k.name, slot, err, k.kind)
				}
				continue
			}
			refused(t, err, "stdio", []string{"stdin", "stdout", "stderr"}[slot], "pipe it instead")
			if t.Failed() {
				t.Fatalf("%s in slot %d", k.name, slot)
			}
		}
	}
}

// With a terminal asked for, every slot takes one, and none of them reaches the
// daemon.
func TestS02_TerminalsAreReplaced(t *testing.T) {
	dir := playground(t)
	r := request(dir)
	r.TTY = true
	tty := devices(t)[4].fd
	pipe := anonymous(t, dir)
	o, err := openStdio(t, newChild(t), r, nil, pipe[0].fd, pipe[1].fd, tty)
	if err != nil {
		t.Fatal(err)
	}
	if want := []jail.StdioKind{jail.StdioPipe, jail.StdioPipe, jail.StdioTTY}; !slices.Equal(o.Reply.Stdio, want) {
		t.Errorf("kinds %q, want %q", o.Reply.Stdio, want)
	}
	if _, err := unix.IoctlGetTermios(int(o.Stdio[2].Fd()), unix.TCGETS); err == nil {
		t.Error("the terminal itself came through")
	}
}

// A stream to another process is donated, unless it leads to one of our sockets.
func TestS02_StreamsToOthersButNotToUs(t *testing.T) {
	dir := playground(t)
	sock := dir + "/elsewhere"
	other := listenElsewhere(t, sock)
	null := mustFD(t)(unix.Open("/dev/null", unix.O_RDWR, 0))
	c := newChild(t)
	o, err := openStdio(t, c, request(dir), []string{"/run/omnijail/omnijaild.sock"}, other, null, null)
	if err != nil || o.Reply.Stdio[0] != jail.StdioSocket {
		t.Fatalf("a stream to another process: %v", err)
	}
	_, err = openStdio(t, c, request(dir), []string{sock}, other, null, null)
	refused(t, err, "stdio", "a connection to omnijail itself")
}
