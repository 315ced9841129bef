//go:build !linux

package mountwatch
