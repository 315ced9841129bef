// Program stands for omnijail-init and for omnijaild in the tests of the cage: as
// the first it confines, as the second it is the egress process or, built with
// mode=attack, one that an attacker has taken over.
package main

import (
	"fmt"
	"os"

	"github.com/omnijail/omnijail/internal/confine"
	"github.com/omnijail/omnijail/internal/egressd"
)

var mode string // set by the linker

func main() {
	if len(os.Args) < 2 {
		os.Exit(64)
	}
	switch {
	case os.Args[1] == "confine":
		os.Exit(confine.Main(os.Args[2:]))
	case mode == "attack":
		attack()
	default:
		if err := egressd.Run(os.NewFile(3, "daemon")); err != nil {
			fmt.Fprintln(os.Stderr, "egress:", err)
			os.Exit(1)
		}
	}
}
