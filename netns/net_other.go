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
func New() (*Net, error) {
	return nil, fmt.Errorf("make network namespace: %w", errors.ErrUnsupported)
}

// FD returns nil.
func (n *Net) FD() *os.File { return nil }

// Sockets returns none.
func (n *Net) Sockets() Sockets { return Sockets{} }

// OpenProxy does nothing.
func (n *Net) OpenProxy() error { return nil }

// Forget does nothing.
func (n *Net) Forget() {}

// Close does nothing.
func (n *Net) Close() error { return nil }
