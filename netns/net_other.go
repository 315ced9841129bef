//go:build !linux

package netns

import (
	"errors"
	"fmt"
	"os"
)

// Net is one jail's network namespace.
type Net struct{}

// New needs Linux: it returns an error that wraps errors.ErrUnsupported.
func New(Interception) (*Net, error) {
	return nil, fmt.Errorf("make network namespace: %w", errors.ErrUnsupported)
}

// FD returns nil.
func (n *Net) FD() *os.File { return nil }

// Sockets returns none.
func (n *Net) Sockets() Sockets { return Sockets{} }

// Open does nothing.
func (n *Net) Open(Opening) error { return nil }

// Interception returns Steered.
func (n *Net) Interception() Interception { return Steered }

// Forget does nothing.
func (n *Net) Forget() {}

// Close does nothing.
func (n *Net) Close() error { return nil }
