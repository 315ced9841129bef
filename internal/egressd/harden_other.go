//go:build !linux

package egressd

import "errors"

func harden() error { return errors.ErrUnsupported }

func filterCalls() error { return errors.ErrUnsupported }
