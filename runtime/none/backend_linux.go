package none

import (
	"strconv"

	"github.com/omnijail/omnijail/internal/child"
	"github.com/omnijail/omnijail/internal/jail"
	"github.com/omnijail/omnijail/internal/node"
)

// Name is the policy's word for this backend.
const Name = node.Nothing

// Backend starts commands through omnijail-init run alone.
type Backend struct{}

// Name is "none".
func (Backend) Name() string { return Name }

// Harden asks for no wall and no filter: the command is not held to anything but
// its caller's own rights.
func (Backend) Harden(_ *jail.Spec, l *jail.Launch) { l.Wall, l.Places = child.WallNone, nil }

// Command returns the command for spec, which must give isolation away.
// st.Chan becomes the command's and is closed with it; st.Init is lent. There is no report of the exit but the process's own.
func (Backend) Command(spec *jail.Spec, st jail.Staged) (*jail.Cmd, error) {
	if !spec.Bare() {
		return nil, &jail.UnsupportedError{Backend: Name, Feature: "a policy without weaken: [no_isolation]", Need: "isolation", Fix: "backend: " + node.Bubblewrap}
	}
	cmd := &jail.Cmd{Exe: st.Init}
	channel := cmd.Donate(st.Chan)
	cmd.Args = []string{"omnijail-init", "run", strconv.Itoa(channel)}
	return cmd, nil
}
