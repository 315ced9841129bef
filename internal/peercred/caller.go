package peercred

import (
	"os"
	"slices"
)

// Caller is the peer of one connection. The zero Caller is nobody, and asking it
// for an id is a mistake of ours.
type Caller struct {
	known    bool
	uid, gid uint32
	groups   []uint32
	pid      int
	pidfd    *os.File
	label    string // of the peer's security module, empty when there is none
}

// UID is the peer's effective uid when it connected.
func (c Caller) UID() uint32 { return c.must().uid }

// GID is the peer's effective gid when it connected.
func (c Caller) GID() uint32 { return c.must().gid }

// Groups are the supplementary groups the peer held when it connected, from the
// kernel: a user database may give more than the process has.
func (c Caller) Groups() []uint32 { return slices.Clone(c.must().groups) }

// PID is for messages. It may name another process by now.
func (c Caller) PID() int { return c.must().pid }

// PidFD refers to the peer for as long as it is open.
func (c Caller) PidFD() *os.File { return c.must().pidfd }

// Close closes the pidfd. It may be called twice.
func (c Caller) Close() error {
	if c.pidfd == nil {
		return nil
	}
	c.pidfd.Close()
	return nil
}

func (c Caller) must() Caller {
	if !c.known {
		panic("omnijail: internal error: a caller without a connection")
	}
	return c
}
