//go:build !linux

package seccomp

import (
	"errors"
	"os"
)

var errLinuxOnly = errors.New("seccomp filters exist on Linux only")

func load(string) (Filter, error) { return nil, errLinuxOnly }

// Install fails: there is no seccomp here.
func (f Filter) Install() error { return errLinuxOnly }

// InstallAll fails: there is no seccomp here.
func (f Filter) InstallAll() error { return errLinuxOnly }

// Memfd fails: there are no memory files here.
func (f Filter) Memfd() (*os.File, error) { return nil, errLinuxOnly }
