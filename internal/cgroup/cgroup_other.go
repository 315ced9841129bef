//go:build !linux

package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Hierarchy, Instance and Group exist on Linux only; elsewhere Find fails and no
// value of theirs is ever made.
type (
	Hierarchy struct{}
	Instance  struct{}
	Group     struct{}
)

var errLinux = fmt.Errorf("cgroups: %w", errors.ErrUnsupported)

// Find returns an error that wraps errors.ErrUnsupported.
func Find() (*Hierarchy, error) { return nil, errLinux }

// V2 returns false.
func (h *Hierarchy) V2() bool { return false }

// Mount returns nothing.
func (h *Hierarchy) Mount() string { return "" }

// Delegated returns false.
func (h *Hierarchy) Delegated() bool { return false }

// Controller returns 0.
func (h *Hierarchy) Controller(string) int { return 0 }

// Of fails.
func (h *Hierarchy) Of(int) (string, error) { return "", errLinux }

// Instance fails.
func (h *Hierarchy) Instance(string) (*Instance, error) { return nil, errLinux }

// Sweep fails.
func (h *Hierarchy) Sweep(context.Context, string) error { return errLinux }

// Contains returns false.
func (i *Instance) Contains(string) bool { return false }

// InPlace returns false.
func (i *Instance) InPlace(string) bool { return false }

// New fails.
func (i *Instance) New(string) (*Group, error) { return nil, errLinux }

// Child fails.
func (g *Group) Child(string) (*Group, error) { return nil, errLinux }

// Killed returns nothing.
func (g *Group) Killed() string { return "" }

// Dir returns nil.
func (g *Group) Dir() *os.File { return nil }

// Path returns nothing.
func (g *Group) Path() string { return "" }

// Start fails.
func (g *Group) Start(*exec.Cmd) error { return errLinux }

// Usage knows nothing.
func (g *Group) Usage() Usage { return Usage{} }

// Enter fails.
func (g *Group) Enter() (func() error, error) { return nil, errLinux }

// SetLimits fails.
func (g *Group) SetLimits(Limits) error { return errLinux }

// Freeze fails.
func (g *Group) Freeze() error { return errLinux }

// Thaw fails.
func (g *Group) Thaw() error { return errLinux }

// Kill fails.
func (g *Group) Kill() error { return errLinux }

// WaitEmpty fails.
func (g *Group) WaitEmpty(context.Context) error { return errLinux }

// Remove fails.
func (g *Group) Remove() error { return errLinux }
