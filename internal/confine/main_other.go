//go:build !linux

package confine

import (
	"fmt"
	"os"
)

// Main says that there is no cage here and returns 125.
func Main([]string) int {
	fmt.Fprintln(os.Stderr, "omnijail-init: confine: only Linux has the cage of the egress process")
	return 125
}
