//go:build !linux

package reaper

// Main fails: jails of this kind exist on Linux alone.
func Main([]string) int { return 125 }
