package fence

import (
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/cgroup"
	"github.com/omnijail/omnijail/internal/cgroup/cgrouptest"
)

// TestMain is also the process that is fenced in.
func TestMain(m *testing.M) {
	if os.Getenv("FENCED") != "" {
		obey(os.Stdin, os.Stdout)
		return
	}
	os.Exit(m.Run())
}

// order is one try of the captive: how, and where to.
type order struct {
	How   string // udp: connect a datagram socket; send: without connecting; tcp
	To    netip.AddrPort
	Times int
}

// obey does what it is told and says what the kernel said.
func obey(in io.Reader, out io.Writer) {
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var o order
		if orders.Decode(&o) != nil {
			return
		}
		var no syscall.Errno
		for range o.Times {
			errors.As(o.carryOut(), &no)
		}
		answers.Encode(no)
	}
}

func (o order) carryOut() error {
	family, kind := unix.AF_INET6, unix.SOCK_DGRAM
	var to unix.Sockaddr = &unix.SockaddrInet6{Port: int(o.To.Port()), Addr: o.To.Addr().As16()}
	if a := o.To.Addr(); a.Is4() {
		family, to = unix.AF_INET, &unix.SockaddrInet4{Port: int(o.To.Port()), Addr: a.As4()}
	}
	if o.How == "tcp" {
		kind = unix.SOCK_STREAM
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if o.How == "send" {
		return unix.Sendto(fd, nil, 0, to)
	}
	return unix.Connect(fd, to)
}

// captive is a process behind a wall.
type captive struct {
	t       testing.TB
	wall    *Wall
	orders  *json.Encoder
	answers *json.Decoder
}

func newCaptive(t testing.TB, f *Fence) *captive {
	t.Helper()
	group := cgrouptest.New(t)
	w, err := f.Enclose(group.Dir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	c := startCaptive(t, group)
	c.wall = w
	return c
}

func startCaptive(t testing.TB, group *cgroup.Group) *captive {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{"FENCED=1"}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := group.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	return &captive{t: t, orders: json.NewEncoder(in), answers: json.NewDecoder(out)}
}

// refused reports whether the kernel refused a try as such.
func (c *captive) refused(how string, to netip.AddrPort) bool {
	c.t.Helper()
	return c.ask(order{how, to, 1}) == unix.EPERM
}

func (c *captive) ask(o order) (no syscall.Errno) {
	c.t.Helper()
	if err := errors.Join(c.orders.Encode(o), c.answers.Decode(&no)); err != nil {
		c.t.Fatal(err)
	}
	return no
}
