//go:build !linux

package wire

import (
	"errors"
	"os"
)

// MaxDocument is the largest Config or Spec, in bytes of JSON.
const MaxDocument = 8 << 20

// Seal is not available here.
func Seal(string, any) (*os.File, error) { return nil, errors.ErrUnsupported }

// Unseal is not available here.
func Unseal(*os.File, any) error { return errors.ErrUnsupported }

// Sealed reports false: there are no sealed memfds here.
func Sealed(*os.File) bool { return false }
