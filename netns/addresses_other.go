//go:build !linux

package netns

import (
	"errors"
	"fmt"
)

// AddressChanges needs Linux: it returns an error that wraps errors.ErrUnsupported.
func AddressChanges(<-chan struct{}) (<-chan struct{}, error) {
	return nil, fmt.Errorf("watch this node's addresses: %w", errors.ErrUnsupported)
}
