package jail

import (
	"os"

	"github.com/omnijail/omnijail/internal/child"
)

// Backend lowers a Spec to a command. Lowering is pure; opening files and
// starting processes belong to others.
type Backend interface {
	// Name is the policy's word for it: "linux_bwrap".
	Name() string
	// Command returns the command that becomes the jail. It may open root-owned
	// files and make memfds; it starts nothing. Errors are *UnsupportedError
	// where the node or the backend cannot enforce a line of the Spec.
	Command(*Spec, Staged) (*Cmd, error)
}

// A Hardener is a Backend whose jails need more of init than the policy says.
type Hardener interface {
	Harden(*Spec, *Launch)
}

// Staged is the file system as internal/stage has mounted it: root-owned sources
// in a private mount namespace and where each belongs in the jail.
type Staged struct {
	Mounts []StagedMount // in mounting order
	Init   *os.File      // omnijail-init, a sealed memfd
	Chan   *os.File      // our end for init: the SEQPACKET socket that says ready, waits for go
	TTY    bool
}

// StagedMount is one bind from the staging directory.
type StagedMount struct {
	Source   string // absolute, root-owned, in the staging namespace
	Dest     string // absolute, cleaned, in the jail
	Dir      bool
	ReadOnly bool
}

// Cmd is a command to start in a jail: a path or a descriptor, arguments and the
// descriptors it inherits. There is no environment: what runs with privilege
// starts with an empty one, and the command's own travels in the Launch.
type Cmd struct {
	Exe        *os.File // executed by descriptor; root-owned or a sealed memfd
	Args       []string // argv, Args[0] included; never a value of the caller's
	Status     *os.File // read end of the JSON status, nil when the backend has none
	Namespaces uintptr  // CLONE_NEW* that the process starts in; 0 where it makes its own
	donate     []*os.File
	own        []*os.File
}

// FirstDonated is the lowest descriptor that a child inherits besides 0, 1 and 2.
const FirstDonated = child.FirstDonated

// Donate passes f to the child and returns the number it has there. The Cmd
// owns f from now on.
func (c *Cmd) Donate(f *os.File) (childFD int) {
	c.donate = append(c.donate, f)
	return FirstDonated + len(c.donate) - 1
}

// Lend is Donate for a file that the caller keeps.
func (c *Cmd) Lend(f *os.File) (childFD int) {
	c.own = append(c.own, f)
	return c.Donate(f)
}

// Donated returns the files of the child's descriptors 3, 4, …
func (c *Cmd) Donated() []*os.File { return c.donate }

// Close closes what was donated but not lent. It is called once the child has
// started or failed to, and may be called again.
func (c *Cmd) Close() {
	for _, f := range c.donate {
		if !contains(c.own, f) {
			f.Close()
		}
	}
	c.donate, c.own = nil, nil
}

func contains(fs []*os.File, f *os.File) bool {
	for _, g := range fs {
		if g == f {
			return true
		}
	}
	return false
}
