package selftest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/jail"
)

// ipcAttempts reach for what the caller's other processes share, and for the
// daemon that would start another jail, with other rules.
func ipcAttempts() (out []Attempt) {
	add := func(name, tries string, probe func(*Site) Finding) *Attempt {
		out = append(out, Attempt{Name: "ipc." + name, Tries: tries, Must: absent, Guarantee: jail.Files, probe: probe})
		return &out[len(out)-1]
	}
	add("socket", "connect to a Unix socket of the caller's", func(s *Site) Finding { return greeted("unix", s.Socket) })
	add("socket_root", "connect to it through /proc/self/root", func(s *Site) Finding { return greeted("unix", "/proc/self/root"+s.Socket) })
	add("socket_datagram", "send a datagram to it", func(s *Site) Finding {
		c, err := net.Dial("unixgram", s.Socket+"-datagram")
		return opened(c, err)
	})
	add("abstract", "connect to an abstract socket of the caller's", func(s *Site) Finding { return greeted("unix", "@"+s.Abstract) })
	add("shm", "attach the caller's shared memory", func(s *Site) Finding {
		if s.ShmKey == 0 {
			return notRun("the node has no System V shared memory")
		}
		_, err := unix.SysvShmGet(s.ShmKey, 1, 0o600)
		return fails(err)
	})
	add("queue", "open the caller's message queue", func(s *Site) Finding {
		if s.Queue == "" {
			return notRun("the node has no message queues")
		}
		fd, err := openQueue(s.Queue, unix.O_RDONLY)
		if err == nil {
			unix.Close(fd)
		}
		return fails(err)
	})
	add("control", "connect to the daemon", func(s *Site) Finding { return connected(s.Control) })
	add("control_root", "connect to the daemon through /proc/1/root", func(s *Site) Finding { return connected("/proc/1/root" + s.Control) })
	add("control_abstract", "connect to the daemon by its path as an abstract name", func(s *Site) Finding { return connected("@" + s.Control) }).
		NoControl = "no daemon listens there"
	for _, name := range []string{"/run/docker.sock", "/run/containerd/containerd.sock", "/run/dbus/system_bus_socket", "/run/systemd/private", "/run/systemd/notify", "/tmp/.X11-unix/X0", "/run/user/1000/bus"} {
		add("known_"+asWord(name), "find "+name, func(*Site) Finding {
			_, err := os.Lstat(name)
			return fails(err)
		}).needs = name
	}
	return out
}

// asWord makes a path a part of a name.
func asWord(path string) string {
	return strings.ToLower(strings.Trim(strings.NewReplacer("/", "_", "-", "_", ".", "").Replace(path), "_"))
}

func connected(path string) Finding {
	if path == "" || path == "@" || path == "/proc/1/root" {
		return notRun("where the daemon listens is not known")
	}
	c, err := net.Dial("unix", path)
	return opened(c, err)
}

// greeted connects to something planted and reads its greeting.
func greeted(network, address string) Finding {
	c, err := net.DialTimeout(network, address, patience)
	if err != nil {
		return refused("%v", err)
	}
	defer c.Close()
	return greeting(c)
}

// greeting reads what was planted from a connection. Silence is no refusal.
func greeting(c net.Conn) Finding {
	c.SetDeadline(time.Now().Add(patience))
	io.WriteString(c, "hello\r\n\r\n") // who greets does not have to listen
	b := make([]byte, 256)
	n, err := io.ReadAtLeast(c, b, len(Marker))
	switch {
	case string(b[:min(n, len(Marker))]) == Marker:
		return succeeded("%v was reached", c.RemoteAddr())
	case errors.Is(err, os.ErrDeadlineExceeded):
		return succeeded("neither refused nor answered within %v", patience)
	case err != nil:
		return refused("%v", err)
	}
	return refused("something else answered: %.60q", b[:n])
}

// openQueue opens a POSIX message queue, which Go has no function for.
func openQueue(name string, flags int) (int, error) {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return -1, err
	}
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, at(p), uintptr(flags), 0o600, 0, 0, 0)
	if errno != 0 {
		return -1, fmt.Errorf("mq_open: %w", errno)
	}
	return int(fd), nil
}
