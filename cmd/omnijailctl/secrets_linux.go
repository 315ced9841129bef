package main

import (
	"fmt"
	"os"

	"github.com/omnijail/omnijail/api"
	"github.com/omnijail/omnijail/internal/sealed"
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
		f, err := sealed.File("secret", []byte(value))
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
