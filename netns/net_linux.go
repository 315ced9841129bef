package netns

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/ownthread"
	"github.com/omnijail/omnijail/netns/bpf"
)

// Net is one jail's network namespace. Its methods may be called from several
// goroutines.
type Net struct {
	way   Interception
	anyIP bool

	mu    sync.Mutex
	ns    *os.File
	socks Sockets
	steer io.Closer
}

// New makes a namespace with its sockets and, where it is Steered, its steering. It
// needs root in the user namespace that owns the network. ByPort, connections are
// refused until Open has been told of ports.
func New(way Interception) (*Net, error) {
	n := &Net{way: way}
	if err := ownthread.Run(n.build); err != nil {
		n.Close()
		return nil, fmt.Errorf("make network namespace: %w", err)
	}
	return n, nil
}

// build runs on a thread of its own, which dies in the new namespace.
func (n *Net) build() (err error) {
	if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if n.ns, err = os.Open("/proc/thread-self/ns/net"); err != nil {
		return err
	}
	if err = writeSysctls(n.way); err != nil {
		return err
	}
	if n.anyIP, err = makeLocal(n.way); err != nil {
		return err
	}
	if n.socks.UDP, err = openDatagrams(); err != nil || n.way == ByPort {
		return err
	}
	if n.socks.TCP, err = openSteered(len(n.socks.UDP)); err != nil {
		return err
	}
	n.steer, err = bpf.Steer(n.ns, n.socks.TCP)
	return err
}

// Interception says how the jail's connections come to the listeners.
func (n *Net) Interception() Interception { return n.way }

// FD returns the namespace, for setns. The Net owns it.
func (n *Net) FD() *os.File { return n.ns }

// Sockets returns the sockets. They are the Net's until Forget.
func (n *Net) Sockets() Sockets {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.socks
}

// Forget closes this process's copies of the sockets, once another process has
// its own. Connections are refused as soon as that process closes them.
func (n *Net) Forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.socks.close()
	n.socks = Sockets{}
}

// Close ends the network: first the sockets, so that connections are refused,
// then the steering, then our hold on the namespace. Processes that are still in
// it stay there without a way out. Close may be called again.
func (n *Net) Close() error {
	n.Forget()
	n.mu.Lock()
	defer n.mu.Unlock()
	var errs []error
	if n.steer != nil {
		errs = append(errs, n.steer.Close())
		n.steer = nil
	}
	if n.ns != nil {
		if err := n.ns.Close(); !errors.Is(err, os.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
