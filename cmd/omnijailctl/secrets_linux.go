package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/omnijail/omnijail/api"
)

// openSecrets puts the value of each variable that the policy's env sources name
// into a sealed memfd. A variable that is not set is left out: the next source
// of its credential is asked then.
func openSecrets(req *api.ExecRequest) (files []*os.File, err error) {
	var names []string
	for _, name := range req.SecretFDs {
		value := os.Getenv(name)
		if value == "" {
			continue
		}
		f, err := sealed(value)
		if err != nil {
			for _, f := range files {
				f.Close()
			}
			return nil, fmt.Errorf("hand over %s: %w", name, err)
		}
		names = append(names, name)
		files = append(files, f)
	}
	req.SecretFDs = names
	return files, nil
}

func sealed(value string) (*os.File, error) {
	fd, err := unix.MemfdCreate("secret", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "secret")
	if _, err := f.WriteString(value); err != nil {
		f.Close()
		return nil, err
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS,
		unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
