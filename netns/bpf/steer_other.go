//go:build !linux

package bpf

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Steer needs Linux: it returns an error that wraps errors.ErrUnsupported.
func Steer(*os.File, []*os.File) (io.Closer, error) {
	return nil, fmt.Errorf("steer connections: %w", errors.ErrUnsupported)
}
