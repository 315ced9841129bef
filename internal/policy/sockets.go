package policy

import (
	"slices"

	"github.com/omnijail/omnijail/internal/jail"
	machine "github.com/omnijail/omnijail/internal/node"
)

// checkSockets refuses credentials beside Unix sockets that nothing but the file
// system holds: a program behind one could be asked to carry a request elsewhere.
func checkSockets(d *Document, rep *report) {
	at := slices.IndexFunc(d.Weaken, func(w Item) bool { return w.Text == string(jail.WeakUnixSockets) })
	if at < 0 || len(d.Credentials) == 0 {
		return
	}
	rep.errorf(d.Weaken[at].At, index("weaken", at), "unix_sockets and credential_proxy cannot be given together")
}

// unkeptSocket is the first socket that a jail of the backend could not connect to:
// one that stands on Landlock alone makes none while Landlock cannot hold them.
func unkeptSocket(d *Document, backend string) *Item {
	weak := slices.Contains(d.weakenings(), jail.WeakUnixSockets)
	if backend != machine.Alone || weak || len(d.Sockets) == 0 {
		return nil
	}
	return &d.Sockets[0]
}
