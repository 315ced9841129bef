package e2e

import (
	"os"

	"github.com/omnijail/omnijail/internal/landlock"
)

// withoutBwrap reports whether the suite runs under the backend that needs none.
func withoutBwrap() bool { return os.Getenv(backendVariable) == alone }

// noUnixSockets reports whether jails of the suite get no Unix socket but pairs:
// without bwrap, on a kernel whose wall does not keep from those of others.
func noUnixSockets() bool { return withoutBwrap() && !landlock.ScopesPathSockets(landlock.ABI()) }
