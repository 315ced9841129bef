package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// laterVerbs are the verbs that this build does not have. Typing one is an error
// that says so, never a silent nothing.
var laterVerbs = map[string]string{
	"creds":   "a session has those of its policy: omnijailctl policy apply --jail ID FILE changes them",
	"box":     "remote boxes",
	"sandbox": "remote boxes",
	"hosts":   "managed hosts",
}

// later stands where a verb of a later build will be. It takes whatever follows,
// a request for help too, since there is nothing to help with.
func later(name, what string) *cobra.Command {
	return &cobra.Command{
		Use: name, Hidden: true, DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usageError{error: fmt.Errorf("%s: not in this build (%s)", verb(cmd), what)}
		},
	}
}
