//go:build !linux

package scout

// Main fails: a scout hands over descriptors in a way that only Linux has.
func Main([]string) int { return 125 }
