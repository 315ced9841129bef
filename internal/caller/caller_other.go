//go:build !linux

package caller
