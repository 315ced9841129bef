//go:build !linux

package main

import (
	"errors"
	"os"

	"github.com/omnijail/omnijail/api"
)

// openSecrets has no sealed memory to use here.
func openSecrets(req *api.ExecRequest) ([]*os.File, error) {
	if len(req.SecretFDs) > 0 {
		return nil, errors.New("env sources of credentials need Linux in this build")
	}
	return nil, nil
}
