package landlock

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/landlock"
)

// Backend starts jails through omnijail-init alone.
type Backend struct {
	abi int
}

// New returns the backend for a kernel of the given Landlock ABI.
func New(abi int) *Backend { return &Backend{abi} }

// Name is "linux_landlock".
func (*Backend) Name() string { return Name }

// Harden makes the wall a condition of the start, and closes what the wall of
// this kernel leaves open, unless the policy gives that away.
func (b *Backend) Harden(spec *jail.Spec, l *jail.Launch) {
	l.Wall = child.WallNeeded
	l.NoUnix = !landlock.ScopesPathSockets(b.abi) && !slices.Contains(spec.Weaken, jail.WeakUnixSockets)
}

// Command returns the command for spec. st.Chan becomes the command's
// and is closed with it; st.Init is lent.
func (b *Backend) Command(spec *jail.Spec, st jail.Staged) (*jail.Cmd, error) {
	order, err := Args(spec, st)
	if err != nil {
		return nil, err
	}
	status, statusEnd, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := &jail.Cmd{
		Exe: st.Init, Status: status,
		Namespaces: unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWNS,
	}
	order.Init = cmd.Lend(st.Init)
	order.Channel = cmd.Donate(st.Chan)
	order.Status = cmd.Donate(statusEnd)
	cmd.Args = append([]string{"omnijail-init", "reap"}, order.Args()...)
	return cmd, nil
}
