package daemon

import (
	"errors"
	"sync"
)

// brake stops a running command for a while, or until it is killed. Several may
// hold it at once; the command goes on when none does.
type brake struct {
	mu    sync.Mutex
	group interface {
		Freeze() error
		Thaw() error
	}
	held   int
	locked bool // it never goes on
	over   bool // it is being killed, for which it must not be frozen anew
}

var errOver = errors.New("the command has ended")

// hold stops the command. An error means that it may still run, or has ended.
func (b *brake) hold() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return errOver
	}
	b.held++
	if b.held > 1 || b.locked {
		return nil
	}
	return b.group.Freeze()
}

// release lets the command go on unless others hold it. It follows each hold.
func (b *brake) release() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held--
	if b.held > 0 || b.locked || b.over {
		return nil
	}
	return b.group.Thaw()
}

// lock keeps the command as it is now until it is killed.
func (b *brake) lock() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.locked = true
}

// end comes before the kill: a group that is frozen after it would not die.
func (b *brake) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
}
