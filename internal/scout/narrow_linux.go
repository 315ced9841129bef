package scout

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/internal/seccomp"
)

// mostMemory bounds what a scout that opens files can write to, in bytes. Its
// cgroup has a limit as well where that costs no wait.
const mostMemory = 1 << 30

// narrow leaves a scout that opens files nothing but that: no program, no other
// process, no socket, and a bounded memory. What it reads is the caller's.
func narrow() error {
	if err := boundMemory(); err != nil {
		return err
	}
	filter, err := seccomp.Scout()
	if err != nil {
		return err
	}
	return filter.InstallAll()
}

func boundMemory() error {
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: mostMemory, Max: mostMemory}); err != nil {
		return fmt.Errorf("memory limit: %w", err)
	}
	return nil
}
