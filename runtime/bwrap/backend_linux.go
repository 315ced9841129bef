package bwrap

import (
	"fmt"
	"os"
	"strings"

	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/seccomp"
)

// Backend starts jails through one bwrap.
type Backend struct {
	bwrap *Binary
}

// New returns the backend. bwrap stays the caller's.
func New(bwrap *Binary) *Backend { return &Backend{bwrap} }

// Name is "linux_bwrap".
func (*Backend) Name() string { return Name }

// Command returns the bwrap command for spec. st.Chan becomes the
// command's and is closed with it; st.Init is lent.
func (b *Backend) Command(spec *jail.Spec, st jail.Staged) (*jail.Cmd, error) {
	options, err := Args(spec, st)
	if err != nil {
		return nil, err
	}
	name, err := seccomp.Of(spec.Weaken, spec.Observe)
	if err != nil {
		return nil, err
	}
	outer, err := seccomp.Outer(name)
	if err != nil {
		return nil, err
	}
	filter, err := outer.Memfd()
	if err != nil {
		return nil, err
	}
	status, statusEnd, err := os.Pipe()
	if err != nil {
		filter.Close()
		return nil, err
	}
	cmd := &jail.Cmd{Exe: b.bwrap.File(), Status: status}
	init := cmd.Lend(st.Init)
	channel := cmd.Donate(st.Chan)
	options = append(options,
		"--seccomp", fmt.Sprint(cmd.Donate(filter)),
		"--json-status-fd", fmt.Sprint(cmd.Donate(statusEnd)))
	argsFile, err := seal("args", strings.NewReader(strings.Join(options, "\x00")+"\x00"))
	if err != nil {
		status.Close()
		cmd.Close()
		return nil, err
	}
	args := cmd.Donate(argsFile)
	cmd.Args = []string{"bwrap", "--args", fmt.Sprint(args), "--",
		fmt.Sprintf("/proc/self/fd/%d", init), "run", fmt.Sprint(channel), name}
	return cmd, nil
}
