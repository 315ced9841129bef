//go:build !linux

package landlock

import "errors"

// ABI returns 0: only Linux has Landlock.
func ABI() int { return 0 }

// Restrict fails: only Linux has Landlock.
func (Ruleset) Restrict() error { return errors.New("only Linux has Landlock") }
