package main

import (
	"fmt"
	"os"

	"github.com/omnijail/omnijail/internal/egressd"
)

// egressSocket is the descriptor of the socket to the daemon, put there by
// omnijail-init confine.
const egressSocket = 3

// egress is an egress process. It says what it has to say over its socket; what
// it prints goes nowhere but in a test.
func egress() int {
	if err := egressd.Run(os.NewFile(egressSocket, "daemon")); err != nil {
		fmt.Fprintf(os.Stderr, "omnijaild egress: %v\n", err)
		return exitFailed
	}
	return 0
}
