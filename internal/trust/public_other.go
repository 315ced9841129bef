//go:build !linux

package trust

import "io/fs"

// public reports false: there are no jails with a composed /etc here.
func public(fs.FileInfo) bool { return false }
