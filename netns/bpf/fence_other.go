//go:build !linux

package bpf

import (
	"errors"
	"fmt"
	"os"
)

// Table needs Linux.
type Table struct{}

// NewTable needs Linux: it returns an error that wraps errors.ErrUnsupported.
func NewTable() (*Table, error) { return nil, errNoFence }

// Set needs Linux.
func (*Table) Set([]Rule) error { return errNoFence }

// Enclose needs Linux.
func (*Table) Enclose(*os.File) (*Fence, error) { return nil, errNoFence }

// Close does nothing.
func (*Table) Close() error { return nil }

// Fence needs Linux.
type Fence struct{}

// Add needs Linux.
func (*Fence) Add(Exceptions) error { return errNoFence }

// Remove needs Linux.
func (*Fence) Remove(Exceptions) error { return errNoFence }

// Close does nothing.
func (*Fence) Close() error { return nil }

var errNoFence = fmt.Errorf("fence: %w", errors.ErrUnsupported)
