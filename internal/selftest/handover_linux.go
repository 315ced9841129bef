package selftest

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/jail"
)

// handOverAttempts give a jail a descriptor that leads out of it, as a host
// process does that is careless or was talked into it.
func handOverAttempts() (out []Attempt) {
	for _, d := range []struct {
		name, tries string
		open        func(*node) (*os.File, error)
	}{
		{"directory", "hand over a directory", func(n *node) (*os.File, error) { return os.Open(n.dir) }},
		{"root", "hand over the root directory", func(*node) (*os.File, error) { return os.Open("/") }},
		{"path", "hand over a path descriptor", func(n *node) (*os.File, error) { return byPath(n.dir) }},
		{"daemon", "hand over a connection to the daemon", func(n *node) (*os.File, error) { return dialed("unix", n.site.Control) }},
		{"tcp", "hand over a TCP connection", func(n *node) (*os.File, error) {
			return dialed("tcp", net.JoinHostPort("127.0.0.1", itoa(n.site.Port)))
		}},
		{"netns", "hand over the node's network namespace", func(*node) (*os.File, error) { return os.Open("/proc/self/ns/net") }},
		{"proc", "hand over a file of /proc", func(*node) (*os.File, error) { return os.Open("/proc/self/mem") }},
		{"pidfd", "hand over a process", func(*node) (*os.File, error) {
			fd, err := unix.PidfdOpen(os.Getpid(), 0)
			return os.NewFile(uintptr(max(fd, 0)), "pidfd"), err
		}},
		{"eventfd", "hand over an event descriptor", func(*node) (*os.File, error) {
			fd, err := unix.Eventfd(0, 0)
			return os.NewFile(uintptr(max(fd, 0)), "eventfd"), err
		}},
		{"unbound", "hand over a socket that is not connected", func(*node) (*os.File, error) {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			return os.NewFile(uintptr(max(fd, 0)), "socket"), err
		}},
	} {
		out = append(out, Attempt{
			Name: "handover." + d.name, Tries: d.tries, Must: "the jail does not start, with a reason", Guarantee: jail.Files,
			drive: func(n *node) Finding {
				f, err := d.open(n)
				if err != nil {
					return notRun("%v", err)
				}
				defer f.Close()
				return n.handOver(f)
			},
		})
	}
	return out
}

// handOver asks the daemon itself, since its client copies what it had better
// not pass on.
func (n *node) handOver(f *os.File) Finding {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return notRun("%v", err)
	}
	defer null.Close()
	if err := n.give(null); err != nil {
		return notRun("not even /dev/null is taken: %v", err)
	}
	if err := n.give(f); err != nil {
		return refused("%v", err)
	}
	return succeeded("it was taken")
}

// takes starts a command through the API with f as its input.
func (n *node) takes(f *os.File) error {
	name := n.config.Policy
	if name == "" || strings.Contains(name, "/") {
		name = "offline"
	}
	policy, err := json.Marshal(name)
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	ctx, cancel := n.within(ample)
	defer cancel()
	client := &api.Client{Socket: n.config.Socket}
	session, err := client.Exec(ctx, api.ExecRequest{
		Argv: []string{"/usr/bin/true"}, Cwd: n.work, Policy: policy, User: n.config.User, Backend: n.config.Backend,
	}, [3]*os.File{f, null, null}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	for {
		event, file, err := session.Next()
		if file != nil {
			file.Close()
		}
		switch {
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		case event.Exit != nil && event.Exit.Code != 0:
			return errors.New(event.Exit.Reason)
		case event.Exit != nil:
			return nil
		}
	}
}

func byPath(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), dir), nil
}

func dialed(network, address string) (*os.File, error) {
	c, err := net.Dial(network, address)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.(interface{ File() (*os.File, error) }).File()
}
