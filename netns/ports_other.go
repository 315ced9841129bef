//go:build !linux

package netns

import (
	"errors"
	"os"
)

// Listen fails.
func (n *Net) Listen(uint16) (*os.File, error) { return nil, errors.ErrUnsupported }

// Socket fails.
func (n *Net) Socket() (*os.File, error) { return nil, errors.ErrUnsupported }
