//go:build !linux

package wire

import (
	"errors"
	"os"
)

// Pair is not available here: an egress process of its own is Linux only.
func Pair() (daemon, egress *os.File, err error) {
	return nil, nil, errors.ErrUnsupported
}
